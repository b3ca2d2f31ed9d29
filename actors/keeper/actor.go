package keeper

import (
	"context"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"leasehold/actors/leaseholder"
	"leasehold/actors/membership"
	"leasehold/actors/renewer"
	"leasehold/actors/tenure"
	"leasehold/actors/tree"
	"leasehold/heartbeat"
	"leasehold/lease"
	"leasehold/session"
)

// keeperActor translates messages into events of the machine, and its orders into
// messages, children and calls. All fields belong to the actor's goroutine.
type keeperActor struct {
	cfg     Config
	machine *machine

	brood    *leaseholder.Brood
	holder   func(leaseholder.Config) *actor.Props
	stopping bool
	drained  bool // was reported
	owned    int  // as reported
}

// Receive implements actor.Actor.
func (k *keeperActor) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *actor.Started:
		k.start(c)
	case *actor.Stopping:
		k.stopping = true // a child made now would never be stopped
	case *actor.Stopped:
		k.machine.onFailure() // after a drain nobody waits
	case *actor.Terminated:
		k.terminated(m.Who)
	case *leaseholder.Ended:
		k.machine.onEnded(k.brood.ID(c.Sender()), m)
		c.Stop(c.Sender())
	case *renewer.Released:
		k.machine.onBack(m.Grant.Session, m.Err, time.Now())
	case *claimed:
		if m.told {
			k.machine.onLoss(m.ago, m.noted, time.Now())
		}
		k.machine.onOutcomes(m.outcomes, m.sent, time.Now())
	case *opened:
		k.machine.onOpened(k.machine.leaseholder(m.tenure.Cell().Grant()), m.tenure)
	case *membership.EventsReady:
		k.pull()
	case *membership.Drain:
		k.machine.onDrain()
	case *membership.Abort:
		k.brood.Abort(c)
	}
	if !k.stopping {
		k.carryOut(c)
	}
}

func (k *keeperActor) start(c actor.Context) {
	k.brood = leaseholder.NewBrood()
	self := tree.Self(c)
	k.holder = k.cfg.Leaseholders(func(t *tenure.Tenure) { self.Send(&opened{tenure: t}) })
	k.pull() // what is queued was announced to the keeper before this one
}

// pull takes in what is queued. Events go first: one may say that Redis forgot.
func (k *keeperActor) pull() {
	now := time.Now()
	for _, e := range k.cfg.Events.Take() {
		k.machine.onEvent(e, now)
	}
	for _, r := range k.cfg.Requests.Next() {
		k.machine.onRequest(r, now)
	}
}

func (k *keeperActor) terminated(who *actor.PID) {
	if id, ok := k.brood.Terminated(who); ok {
		k.machine.onTerminated(id, time.Now())
	}
}

// carryOut does what the machine wants done.
func (k *keeperActor) carryOut(c actor.Context) {
	out := k.machine.take()
	for _, e := range out.logs {
		k.cfg.Log.Emit(e)
	}
	for _, s := range out.spawns {
		k.spawn(c, s)
	}
	for _, t := range out.tells {
		k.brood.Tell(c, t.id, t.message)
	}
	for _, r := range out.back {
		c.Send(k.cfg.Renewer, &renewer.Release{
			Release: r, ReplyTo: tree.Self(c), GiveUp: time.Now().Add(k.cfg.TTL),
		})
	}
	if out.renew {
		c.Send(k.cfg.Renewer, &renewer.RenewAll{})
	}
	if out.tell {
		k.tellLoss(c)
	}
	k.claim(c, out.claims)
	if n := k.machine.leases(); n != k.owned {
		k.owned = n
		k.cfg.Owned(n)
	}
	if k.machine.drained() && !k.drained {
		k.drained = true
		c.Send(c.Parent(), &membership.Drained{})
	}
}

func (k *keeperActor) claim(c actor.Context, claims []lease.Claim) {
	// Apart by server, so that one that hangs holds up its own alone.
	place := func(c lease.Claim) string { return lease.PlaceOf(k.cfg.Context, k.cfg.Store, c.Session) }
	for _, batch := range lease.ByPlace(claims, place, claimBatch) {
		parent, store, members, holder := k.cfg.Context, k.cfg.Store, k.cfg.Members, k.cfg.Holder
		asks := k.machine.asksLoss()
		tree.Async(c, func() any {
			ctx, cancel := context.WithTimeout(parent, callLimit)
			defer cancel()
			sent := time.Now()
			if asks {
				ago, noted, err := members.LossNoted(ctx)
				if err != nil {
					return &claimed{outcomes: unclaimed(batch, err), sent: sent}
				}
				if noted {
					return &claimed{outcomes: unclaimed(batch, ErrHeldOff), sent: sent, told: true, noted: true, ago: ago}
				}
			}
			return &claimed{outcomes: store.Acquire(ctx, holder, batch), sent: sent, told: asks}
		})
	}
}

// unclaimed says why claims were not sent.
func unclaimed(claims []lease.Claim, why error) []lease.Outcome {
	all := make([]lease.Outcome, len(claims))
	for i, c := range claims {
		all[i] = lease.Outcome{Session: c.Session, Err: why}
	}
	return all
}

// tellLoss has those that start know that Redis may have lost data.
func (k *keeperActor) tellLoss(c actor.Context) {
	ctx, members, holder, ttl := k.cfg.Context, k.cfg.Members, k.cfg.Holder, k.cfg.TTL
	tree.Async(c, func() any {
		heartbeat.TellLoss(ctx, members, holder, ttl)
		return nothing{}
	})
}

// spawn makes a leaseholder.
func (k *keeperActor) spawn(c actor.Context, s spawn) {
	s.cfg.Session = &session.Session{ID: s.cfg.Term.Session}
	k.brood.Spawn(c, k.holder(s.cfg), s.cfg.Term.Grant, s.id)
}
