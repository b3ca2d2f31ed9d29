package renewer

import (
	"context"
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"leasehold/actors/tree"
	"leasehold/lease"
	"leasehold/lease/cell"
)

// tracked is one lease under renewal. Its fields belong to the actor; goroutines
// use the cell only.
type tracked struct {
	cell      *cell.Cell
	holder    tree.Mailbox
	place     string        // as of its last renewal
	ttl       time.Duration // its group's
	lasts     time.Duration // its own TTL
	busy      bool          // a renewal is in flight
	again     bool          // renew once more when it is answered: the TTL is another now, or the lease in doubt
	suspended bool
	gone      bool // no longer tracked
}

// group is all leases of one TTL.
type group struct {
	ttl, interval time.Duration
	leases        map[lease.Grant]*tracked
	timer         *time.Timer
	retrying      *time.Timer
	failures      int // retries in a row without an answer
}

// renewerActor's fields belong to the actor's goroutine.
type renewerActor struct {
	cfg    Config
	groups map[time.Duration]*group
	// slots bound the calls at once to each place; shared with the calls' goroutines.
	slots map[string]chan struct{}

	doubtful map[lease.Grant]struct{} // to be verified

	releases []*Release
	flushing bool

	clock      *time.Timer
	wall       func(time.Time) time.Time
	seen       time.Time // at the last clock check
	seenOnWall time.Time
}

// Receive implements actor.Actor.
func (r *renewerActor) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *actor.Started:
		r.wall = cell.Wall(r.cfg.Context)
		r.seen = time.Now()
		r.seenOnWall = r.wall(r.seen)
		r.clock = tree.Self(c).After(sleepCheck, &clockCheck{})
		r.group(c, r.cfg.TTL)
	case *actor.Stopping:
		r.clock.Stop()
		for _, g := range r.groups {
			g.stop()
		}
	case Message:
		r.handle(c, m)
	}
}

func (r *renewerActor) handle(c actor.Context, message Message) {
	switch m := message.(type) {
	case *Track:
		r.track(c, m)
	case *Untrack:
		r.untrack(m.Grant)
	case *Release:
		r.untrack(m.Release.Grant)
		r.enqueue(c, m)
	case *Verify:
		r.verify(c, m.Grant)
	case *verifyNow:
		r.verifyNow(c)
	case *RenewAll:
		r.renewAll(c)
	case *cycle:
		r.cycle(c, m.ttl)
	case *burst:
		r.burst(c, m.ttl)
	case *retry:
		r.retry(c, m.ttl)
	case *renewed:
		r.noteRenewed(c, m)
	case *flush:
		r.flush(c)
	case *released:
		r.noteReleased(c, m)
	case *again:
		for _, release := range m.batch {
			r.enqueue(c, release)
		}
	case *clockCheck:
		r.checkClocks(c)
	}
}

// slotsOf returns what bounds the calls to a place: one that hangs keeps nobody else
// waiting.
func (r *renewerActor) slotsOf(place string) chan struct{} {
	slots, ok := r.slots[place]
	if !ok {
		slots = make(chan struct{}, r.cfg.Flights)
		r.slots[place] = slots
	}
	return slots
}

// group returns the group of a TTL, and starts its cycle if it is new.
func (r *renewerActor) group(c actor.Context, ttl time.Duration) *group {
	g, ok := r.groups[ttl]
	if !ok {
		interval := r.cfg.interval(ttl)
		g = &group{ttl: ttl, interval: interval, leases: make(map[lease.Grant]*tracked)}
		g.timer = tree.Self(c).After(r.cfg.first(interval), &cycle{ttl: ttl})
		r.groups[ttl] = g
	}
	return g
}

func (g *group) stop() {
	g.timer.Stop()
	if g.retrying != nil {
		g.retrying.Stop()
	}
}

// track takes a cell in. One that gets another TTL is renewed at once, since the
// new TTL's cycle may come after the old one's end, and never twice at a time:
// Redis might carry out the older renewal last.
func (r *renewerActor) track(c actor.Context, m *Track) {
	grant := m.Cell.Grant()
	t := r.untrack(grant)
	if t == nil || t.cell != m.Cell {
		r.group(c, m.TTL).leases[grant] = &tracked{
			cell: m.Cell, holder: m.Holder, ttl: m.TTL, lasts: r.cfg.Stagger.TTL(grant.Session, m.TTL),
		}
		return
	}
	changed := t.ttl != m.TTL
	t.holder, t.ttl, t.gone = m.Holder, m.TTL, false
	t.lasts = r.cfg.Stagger.TTL(grant.Session, m.TTL)
	r.group(c, m.TTL).leases[grant] = t
	switch {
	case !changed:
	case t.busy:
		t.again = true
	default:
		r.renew(c, t.ttl, slices.Values([]*tracked{t}))
	}
}

// untrack ends the renewals of a grant and returns what was known of it.
func (r *renewerActor) untrack(grant lease.Grant) *tracked {
	var found *tracked
	for ttl, g := range r.groups {
		if t, ok := g.leases[grant]; ok {
			found, t.gone = t, true
			delete(g.leases, grant)
		}
		if len(g.leases) == 0 && ttl != r.cfg.TTL {
			g.stop()
			delete(r.groups, ttl)
		}
	}
	return found
}

// cycle starts one round of renewals: the heartbeat first, for the node's own
// TTL, and the leases right after.
func (r *renewerActor) cycle(c actor.Context, ttl time.Duration) {
	g, ok := r.groups[ttl]
	if !ok {
		return
	}
	g.timer = tree.Self(c).After(g.interval, &cycle{ttl: ttl})
	if ttl != r.cfg.TTL || r.cfg.Beat == nil {
		r.burst(c, ttl)
		return
	}
	beat, parent := r.cfg.Beat, r.cfg.Context
	tree.Async(c, func() any {
		ctx, cancel := context.WithTimeout(parent, beatLimit)
		defer cancel()
		_ = beat(ctx) // who beats also hears of failures; the leases don't wait for it
		return &burst{ttl: ttl}
	})
}

// checkClocks ends cells whose deadline passed while the monotonic clock stood
// still.
func (r *renewerActor) checkClocks(c actor.Context) {
	now := time.Now()
	onWall := r.wall(now)
	ahead := onWall.Sub(r.seenOnWall) - now.Sub(r.seen)
	r.seen, r.seenOnWall = now, onWall
	r.clock = tree.Self(c).After(sleepCheck, &clockCheck{})
	if ahead < sleepJump {
		return
	}
	for _, g := range r.groups {
		for _, t := range g.leases {
			t.cell.Slept()
		}
	}
}
