package membership

import (
	"fmt"
	"time"

	. "github.com/onsi/gomega"

	"leasehold/actors/leaseholder"
	"leasehold/eventlog"
	"leasehold/lease"
	"leasehold/planner"
	"leasehold/redisevents"
	"leasehold/rediskey"
	"leasehold/session"
)

const (
	self   = "me-1-00000001"
	peer   = "peer-1-00000002"
	ttl    = 30 * time.Second
	margin = 2 * time.Second
	// interval is that of the sessions' polls.
	interval = 10 * time.Second
	// external holds leases and is no node.
	external = "worker"
)

// desk is a machine under a spec that plays its actor: it makes the plans at once
// and keeps all other orders until the spec takes them.
type desk struct {
	m    *machine
	now  time.Time
	out  orders
	next int // token
	// peeks has the spec answer looks at this node's turn; else they find leases free.
	peeks bool
	// losses has the spec answer whether Redis lost data; else it has not.
	losses bool
}

func newDesk(change ...func(*Settings)) *desk {
	set := Settings{
		Instance: self, TTL: ttl, Margin: margin, Reconcile: 10 * time.Second, PollSlack: slack, Keys: rediskey.Default(),
	}
	for _, c := range change {
		c(&set)
	}
	d := &desk{now: time.Unix(1_000_000, 0)}
	d.m = newMachine(set, d.now)
	d.settle()
	return d
}

// slack is the settings' PollSlack.
const slack = 5 * time.Second

// readyAfter is how old a desk is that is ready: its turns at what others let lie at the
// start have passed, and the others are new no more.
const readyAfter = newcomer + fallbacks*rankDelay

// ready returns a desk that knows these other nodes and sessions and may claim;
// what it wanted on the way is forgotten.
func ready(peers, sessions []string) *desk {
	d := newDesk()
	d.list(peers...)
	d.scan(docs(sessions...)...)
	d.sleep(readyAfter)
	d.take()
	return d
}

func ids(n int) []string {
	var list []string
	for i := range n {
		list = append(list, fmt.Sprint("s", i))
	}
	return list
}

func doc(id string, change ...func(*session.Session)) document {
	s := session.Session{ID: id, Kind: session.HTTP, Interval: interval, Timeout: 5 * time.Second, Fingerprint: 1}
	for _, c := range change {
		c(&s)
	}
	return document{id: id, session: &s}
}

func docs(ids ...string) []document {
	var list []document
	for _, id := range ids {
		list = append(list, doc(id))
	}
	return list
}

func edition(n uint64) func(*session.Session) {
	return func(s *session.Session) { s.Fingerprint = n }
}

func paused(s *session.Session) { s.Paused = true }

func absent(id string) document { return document{id: id, absent: true} }

func bad(id string, fingerprint uint64) document {
	return document{id: id, fault: &fault{fingerprint: fingerprint, reason: "is not valid JSON"}}
}

// settle does what follows every message, and answers plans, and looks at leases: the
// first at all of them, and those at this node's turn, which find them free.
func (d *desk) settle() {
	d.m.onTime(d.now)
	for {
		o := d.m.take()
		if !d.m.looked && len(o.look) > 0 {
			d.m.onStatuses(unleased(o.look), d.now)
			d.m.onTime(d.now)
			o.look = nil
			d.keep(o)
			o = d.m.take()
		}
		if !d.peeks && len(o.peek) > 0 {
			d.m.onPeeked(unleased(o.peek), d.now)
			d.m.onTime(d.now)
			o.peek = nil
			d.keep(o)
			o = d.m.take()
		}
		if !d.losses && o.asksLoss {
			d.m.onLoss(0, false, nil, d.now, d.now)
			d.m.onTime(d.now)
			o.asksLoss = false
			plan := o.plan
			d.keep(o)
			if o = d.m.take(); o.plan == nil {
				o.plan = plan
			}
		}
		d.keep(o)
		if o.plan == nil {
			return
		}
		d.m.onPlan(o.plan, planner.Assign(o.plan.View), d.now)
		d.m.onTime(d.now)
	}
}

func unleased(ids []string) []lease.Status {
	var list []lease.Status
	for _, id := range ids {
		list = append(list, lease.Status{Session: id})
	}
	return list
}

func (d *desk) keep(o orders) {
	d.out.claims = append(d.out.claims, o.claims...)
	d.out.spawns = append(d.out.spawns, o.spawns...)
	d.out.tells = append(d.out.tells, o.tells...)
	d.out.back = append(d.out.back, o.back...)
	d.out.look = append(d.out.look, o.look...)
	d.out.peek = append(d.out.peek, o.peek...)
	d.out.fetch = append(d.out.fetch, o.fetch...)
	d.out.check = append(d.out.check, o.check...)
	d.out.logs = append(d.out.logs, o.logs...)
	d.out.list = d.out.list || o.list
	d.out.scan = d.out.scan || o.scan
	d.out.renew = d.out.renew || o.renew
	d.out.asksLoss = d.out.asksLoss || o.asksLoss
	d.out.noteLoss = max(d.out.noteLoss, o.noteLoss)
}

// take returns the orders since the last take.
func (d *desk) take() orders {
	o := d.out
	d.out = orders{}
	return o
}

// sleep passes time, waking the machine whenever it asked for it.
func (d *desk) sleep(by time.Duration) {
	end := d.now.Add(by)
	for {
		at := d.m.next(d.now)
		if at.IsZero() || at.After(end) {
			break
		}
		if at.Before(d.now) {
			at = d.now
		}
		idle := d.now.Equal(at)
		d.now = at
		d.settle()
		if next := d.m.next(d.now); idle && !next.IsZero() && !next.After(d.now) {
			panic("the machine wants to be woken at once, again and again")
		}
	}
	d.now = end
	d.settle()
}

func (d *desk) list(peers ...string) {
	members := []lease.Member{{Instance: self, Remaining: ttl, Cordon: d.m.fleet.cordon}}
	for _, p := range peers {
		m := lease.Member{Instance: p, Remaining: ttl}
		if known, ok := d.m.fleet.nodes[p]; ok {
			m.Cordon = known.cordon
		}
		members = append(members, m)
	}
	d.m.onList(members, d.now)
	d.settle()
}

// member answers a check of a node.
func (d *desk) member(name string, remaining time.Duration) {
	d.m.onMembers([]lease.Member{{Instance: name, Remaining: remaining}}, d.now)
	d.settle()
}

func (d *desk) scan(docs ...document) {
	d.m.onScan(docs, d.now, d.now)
	d.settle()
}

func (d *desk) read(docs ...document) {
	d.now = d.now.Add(time.Millisecond)
	d.m.onDocuments(docs, d.now, d.now)
	d.settle()
}

func (d *desk) event(e redisevents.Event) {
	d.m.onEvents([]redisevents.Event{e}, d.now)
	d.settle()
}

func (d *desk) freed(id string) {
	d.event(redisevents.LeaseFreed{Session: id, Cause: redisevents.Deleted})
}

func (d *desk) answer(o lease.Outcome) {
	d.m.onOutcomes([]lease.Outcome{o}, d.now, d.now)
	d.settle()
}

// grant answers a claim with a new token, the first one where nobody is known to have had
// the session.
func (d *desk) grant(id string) lease.Token {
	d.next++
	e := d.m.entries[id]
	d.answer(lease.Outcome{
		Session: id, Granted: true, Fresh: e != nil && d.m.isNew(e, d.now), Holder: self, Token: lease.Token(d.next),
	})
	return lease.Token(d.next)
}

// fresh grants s0, of which there is no counter, and returns how long its first poll waits.
func (d *desk) fresh() time.Duration {
	d.answer(lease.Outcome{Session: "s0", Granted: true, Fresh: true, Holder: self, Token: 9})
	return d.take().spawns[0].cfg.HeldOff
}

func (d *desk) heldBy(id, holder string, remaining time.Duration) {
	d.answer(lease.Outcome{Session: id, Holder: holder, Remaining: remaining})
}

func (d *desk) status(s lease.Status) {
	d.m.onStatuses([]lease.Status{s}, d.now)
	d.settle()
}

// ends plays a leaseholder's report and its end.
func (d *desk) ends(id string, e leaseholder.Ended) {
	c := d.m.held[id]
	if e.Trusted.IsZero() {
		e.Trusted = d.now
	}
	d.m.onEnded(c.id, &e)
	d.settle()
	d.m.onTerminated(c.id, d.now)
	d.settle()
}

// fails plays the end of a leaseholder that said nothing.
func (d *desk) fails(id string) {
	d.m.onTerminated(d.m.held[id].id, d.now)
	d.settle()
}

// back answers the release of s0 without a leaseholder.
func (d *desk) back() { d.backWith(nil) }

func (d *desk) backWith(err error) {
	d.m.onBack(lease.Grant{Session: "s0", Holder: self, Token: lease.Token(max(d.next, 1))}, err, d.now)
	d.settle()
}

// claims takes the orders and returns the IDs claimed.
func (d *desk) claims() []string {
	var list []string
	for _, c := range d.take().claims {
		list = append(list, c.Session)
	}
	return list
}

// own makes the node hold a session that it claimed.
func (d *desk) own(list ...string) {
	for _, id := range list {
		d.grant(id)
	}
	d.take()
}

// mine splits sessions by whether the plan gives them to this node.
func (d *desk) mine() (mine, others []string) {
	for id, e := range d.m.entries {
		if e.mine {
			mine = append(mine, id)
		} else {
			others = append(others, id)
		}
	}
	return mine, others
}

func count[E eventlog.Event](o orders) int {
	n := 0
	for _, e := range o.logs {
		if _, ok := e.(E); ok {
			n++
		}
	}
	return n
}

// unanswered returns, for each claim without an answer that is logged, whether it is as
// a repeated one.
func unanswered(o orders) []bool {
	var repeats []bool
	for _, e := range o.logs {
		if f, ok := e.(eventlog.LeaseAcquireFailed); ok && f.Err != nil {
			Expect(f.Trigger).NotTo(BeEmpty())
			repeats = append(repeats, f.Repeat)
		}
	}
	return repeats
}

func told[M leaseholder.Message](o orders) []M {
	var list []M
	for _, t := range o.tells {
		if m, ok := t.message.(M); ok {
			list = append(list, m)
		}
	}
	return list
}

func reasons(o orders) []leaseholder.Reason {
	var list []leaseholder.Reason
	for _, r := range told[*leaseholder.Release](o) {
		list = append(list, r.Reason)
	}
	return list
}

// quiet checks that the machine wants nothing of Redis and no child.
func quiet(o orders) {
	Expect(o.claims).To(BeEmpty())
	Expect(o.spawns).To(BeEmpty())
	Expect(o.tells).To(BeEmpty())
	Expect(o.back).To(BeEmpty())
}
