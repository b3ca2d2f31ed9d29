package membership

import (
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"leasehold/actors/leaseholder"
	"leasehold/actors/renewer"
	"leasehold/actors/tree"
	"leasehold/lease"
)

// membershipActor translates messages into events of the machine, and its orders
// into messages, children and calls. All fields belong to the actor's goroutine.
type membershipActor struct {
	cfg     Config
	machine *machine

	brood *leaseholder.Brood

	timer *time.Timer // what becomes due next
	seq   uint64      // of the timer that counts
	scans *time.Timer // the reconciliation
	round int         // of reconciliations

	listing, scanning   bool // a call is in flight
	listAgain, scanMore bool // another was asked for meanwhile
	// listLater and scanLater are set while a failed call waits to be repeated.
	listLater, scanLater bool
	unlisted, unscanned  bool     // the last call failed
	unread               []string // documents whose reading failed and waits to be repeated

	claims map[string]*queue // by place

	texts    *texts // of the scan in flight
	stopping bool
	drained  bool // was reported
	owned    int  // as reported
	members  int  // as reported
	coverage coverage
}

// Receive implements actor.Actor.
func (a *membershipActor) Receive(c actor.Context) {
	if a.stopping {
		return // a child made now would never be stopped
	}
	switch m := c.Message().(type) {
	case *actor.Started:
		a.start(c)
	case *actor.Stopping:
		a.stop()
		return
	case *actor.Terminated:
		a.terminated(m.Who)
	case *leaseholder.Ended:
		a.machine.onEnded(a.brood.ID(c.Sender()), m)
		c.Stop(c.Sender())
	case *renewer.Released:
		a.machine.onBack(m.Grant, m.Err, time.Now())
	case Message:
		a.handle(c, m)
	default:
		return
	}
	a.machine.onTime(time.Now())
	a.carryOut(c)
}

func (a *membershipActor) start(c actor.Context) {
	a.machine = newMachine(a.cfg.Settings, time.Now())
	a.machine.place = func(id string) string { return lease.PlaceOf(a.cfg.Context, a.cfg.Store, id) }
	a.claims = make(map[string]*queue)
	a.brood = leaseholder.NewBrood()
	a.scans = tree.Self(c).After(a.cfg.Reconcile, &reconcile{})
	// What is queued was announced to the actor before this one, and is not again.
	a.machine.onEvents(a.cfg.Events.Take(), time.Now())
}

func (a *membershipActor) stop() {
	a.stopping = true
	a.scans.Stop()
	if a.timer != nil {
		a.timer.Stop()
	}
}

func (a *membershipActor) handle(c actor.Context, message Message) {
	now := time.Now()
	a.machine.deaf = !a.cfg.Events.Healthy()
	switch m := message.(type) {
	case *EventsReady:
		a.machine.onEvents(a.cfg.Events.Take(), now)
	case *Fenced:
		a.machine.onFenced(m.Fenced, now)
	case *Drain:
		a.machine.onDrain()
	case *Abort:
		a.brood.Abort(c)
	case *wake:
		// onTime follows every message.
	case *reconcile:
		a.reconcile(c)
		a.tellKnown()
	case *claimed:
		a.claims[m.place].calls--
		a.machine.onOutcomes(m.outcomes, m.sent, now)
	case *looked:
		a.onLooked(m, now)
	case *peeked:
		a.machine.onPeeked(m.statuses, now)
	case *planned:
		if a.cfg.Planned != nil {
			a.cfg.Planned(m.in.View, m.owners)
		}
		a.machine.onPlan(m.in, m.owners, now)
	case *listed:
		a.onListed(c, m, now)
	case *checked:
		a.onChecked(m, now)
	case *scanned:
		a.onScanned(c, m, now)
	case *fetched:
		a.onFetched(c, m, now)
	case *toldLoss:
		a.machine.onLoss(m.ago, m.noted, m.err, m.asked, now)
	case *refetch:
		a.machine.out.fetch = append(a.machine.out.fetch, a.unread...)
		a.unread = nil
	case *relist:
		a.listLater, a.scanLater = a.listLater && !m.list, a.scanLater && !m.scan
		a.machine.out.list = a.machine.out.list || m.list
		a.machine.out.scan = a.machine.out.scan || m.scan
	}
}

func (a *membershipActor) onLooked(m *looked, now time.Time) {
	a.machine.onStatuses(m.statuses, now)
	if a.cfg.Known != nil {
		a.coverage.look(a.machine, m.statuses, now)
		a.tellKnown()
	}
}

// reconcile compares with Redis. In a large fleet all keys are gone through by each
// node less often, so that its load on Redis doesn't grow with the fleet. Without events
// new nodes are found by that alone, and it is done each time.
func (a *membershipActor) reconcile(c actor.Context) {
	a.scans = tree.Self(c).After(a.cfg.Reconcile, &reconcile{})
	m := a.machine
	a.round++
	every := (m.fleet.size() + scanFleet - 1) / scanFleet
	m.out.scan = m.out.scan || a.round%every == 0
	m.out.list = m.out.list || m.deaf || m.out.scan
	if !m.out.list {
		m.out.check = append(m.out.check, m.fleet.all()...)
	}
	if !m.out.scan {
		m.lookAtMine()
	}
}

func (a *membershipActor) terminated(who *actor.PID) {
	if id, ok := a.brood.Terminated(who); ok {
		a.machine.onTerminated(id, time.Now())
	}
}

// carryOut does what the machine wants done.
func (a *membershipActor) carryOut(c actor.Context) {
	out := a.machine.take()
	a.call(c, out) // first, since what follows may take a while
	for _, e := range out.logs {
		a.cfg.Log.Emit(e)
	}
	for _, s := range out.spawns {
		a.brood.Spawn(c, a.cfg.Holder(s.cfg), s.cfg.Term.Grant, s.id)
	}
	for _, t := range out.tells {
		a.brood.Tell(c, t.id, t.message)
	}
	for _, r := range out.back {
		c.Send(a.cfg.Renewer, &renewer.Release{
			Release: r, ReplyTo: tree.Self(c), GiveUp: time.Now().Add(a.cfg.TTL),
		})
	}
	if out.renew {
		c.Send(a.cfg.Renewer, &renewer.RenewAll{})
	}
	a.arm(c)
	if n := len(a.machine.children); n != a.owned && a.cfg.Owned != nil {
		a.owned = n
		a.cfg.Owned(n)
	}
	if n := a.machine.fleet.size(); n != a.members && a.cfg.Living != nil {
		a.members = n
		a.cfg.Living(n)
	}
	if a.machine.drained() && !a.drained {
		a.drained = true
		c.Send(c.Parent(), &Drained{})
	}
}

// arm sets the timer to what becomes due next.
func (a *membershipActor) arm(c actor.Context) {
	a.seq++
	if a.timer != nil {
		a.timer.Stop()
		a.timer = nil
	}
	if at := a.machine.next(time.Now()); !at.IsZero() {
		a.timer = tree.Self(c).After(max(0, time.Until(at)), &wake{seq: a.seq})
	}
}
