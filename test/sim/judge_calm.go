package sim

import (
	"slices"
	"time"

	"leasehold/internal/nodetest"
)

// scene is what the judge is shown at the end of a calm.
type scene struct {
	docs   []sessionDoc
	nodes  []string          // that live
	leases map[string]string // the holder by session, as Redis has it
	beats  []string          // instances with a heartbeat
	// endless are the sessions whose lease has no expiry: the engine took it away.
	endless map[string]bool
	// settled is since when all must hold: everything had time to settle before.
	settled time.Time
	// slowReply is how long the answer to an acquire may have taken in the storm before:
	// the first poll after it is so much late.
	slowReply time.Duration
	// change is the only thing that happened since the last calm, nil if there was
	// more or nothing.
	change *change
}

// sessionDoc is a document as the judge sees it.
type sessionDoc struct {
	id       string
	polled   bool // valid, not paused, and of a kind that nodes poll
	release  bool // after a failed poll
	interval time.Duration
	timeout  time.Duration
	ttl      time.Duration
	changed  time.Time
	calendar calendar
}

// slack is how much later than due a poll may start in a calm for all but slowReply.
const slack = 200 * time.Millisecond

// judgeCalm checks what must hold once everything had time to settle.
func (j *judge) judgeCalm(s scene) {
	j.mu.Lock()
	defer j.mu.Unlock()
	lives := map[string]bool{}
	for _, n := range s.nodes {
		lives[n] = true
	}
	known := map[string]bool{}
	for _, d := range s.docs {
		known[d.id] = true
		if d.changed.After(s.settled) {
			continue
		}
		if d.polled {
			j.alive(s, d, lives)
		} else {
			j.idle(s, d.id, "not to be polled")
		}
	}
	for id := range j.sessions {
		if !known[id] {
			j.idle(s, id, "gone")
		}
	}
	j.balanced(s)
	j.moved(s)
}

// idle checks a session that nobody may poll.
func (j *judge) idle(s scene, id, why string) {
	l := j.ledger(id)
	if n := len(l.polls); n > 0 && l.polls[n-1].Start.After(s.settled) {
		j.convict(l, "idle", "%s polls a session that is %s", l.polls[n-1].Instance, why)
	}
	// A dead node's lease without expiry is taken over when the session is polled again.
	left := s.endless[id] && !slices.Contains(s.nodes, s.leases[id])
	if holder := s.leases[id]; holder != "" && !left {
		j.convict(l, "idle", "%s has the lease of a session that is %s", holder, why)
	}
}

// alive checks a session that must be polled.
func (j *judge) alive(s scene, d sessionDoc, lives map[string]bool) {
	l := j.ledger(d.id)
	if holder := s.leases[d.id]; !lives[holder] {
		j.convict(l, "liveness", "%q has the lease, of the nodes that live %v", holder, lives)
	}
	if g := l.current(); g != nil && g.begun.After(s.settled) && (!d.release || !l.failed(g)) && !l.awaited(g, s.settled) {
		j.convict(l, "liveness", "%s acquired the lease without a cause", g.holder)
	}
	j.lost(l, s.settled)
	if !l.wish.seen.IsZero() && l.wish.seen.Before(s.settled) {
		j.convict(l, "run now", "asked for at %s, and not begun", clock(l.wish.seen))
	}
	if d.calendar.every > 0 {
		j.punctual(l, d, s.settled, slack+s.slowReply)
		return
	}
	j.rhythm(l, d, s.settled, slack+s.slowReply)
}

// failed reports whether the last poll that ended before a grant failed.
func (l *ledger) failed(g *grant) bool {
	for _, p := range slices.Backward(l.polls) {
		if !p.Over.IsZero() && !p.Over.After(g.begun) {
			return !p.OK
		}
	}
	return false
}

// awaited reports whether a grant follows a poll that was in flight at a moment already:
// who is to give a lease up waits for its poll's end, and polls may outlast every scan.
func (l *ledger) awaited(g *grant, at time.Time) bool {
	return slices.ContainsFunc(l.polls, func(p *nodetest.Poll) bool {
		return p.Start.Before(at) && p.Over.After(at) && !g.begun.Before(p.Over) && g.begun.Before(p.Over.Add(latest))
	})
}

// rhythm checks that each poll that was due since a moment came, in time, and no
// other. What fell due before was due then.
func (j *judge) rhythm(l *ledger, d sessionDoc, since time.Time, late time.Duration) {
	now := j.now()
	if len(l.polls) == 0 {
		j.convict(l, "liveness", "no poll since %s", clock(j.since))
		return
	}
	for i, p := range l.polls {
		if p.Over.IsZero() {
			continue // in flight
		}
		low, high := d.next(p)
		if at := j.stillborn(l, p.Over, since); !at.IsZero() {
			high = later(high, at.Add(d.interval+d.interval/50))
		}
		high = later(high, since).Add(late)
		switch {
		case i+1 == len(l.polls):
			if high.Before(now) {
				j.convict(l, "liveness", "the next poll was due at %s", clock(high.Add(-late)))
			}
		case l.polls[i+1].Start.Before(since):
		case l.polls[i+1].Start.After(high):
			j.convict(l, "rhythm", "a poll at %s was due at %s", clock(l.polls[i+1].Start), clock(high.Add(-late)))
		case l.polls[i+1].Start.Before(low) && l.rewound.Before(p.Start): // else Redis may have lost p
			j.convict(l, "rhythm", "a poll at %s was due not before %s", clock(l.polls[i+1].Start), clock(low))
		}
	}
}

// next is the earliest and the latest moment at which the poll after p is due.
func (d sessionDoc) next(p *nodetest.Poll) (low, high time.Time) {
	took := p.Over.Sub(p.Start)
	switch {
	case p.Canceled: // by a move, or with its process: its slot stays open, or not
		return p.Over, later(p.Start.Add(d.interval+d.interval/50), p.Over)
	case p.OK:
		early, most := took/d.interval+1, (took+d.interval/20)/d.interval+1
		times := func(n time.Duration) time.Duration { return time.Duration(int64(n) * int64(d.interval)) }
		return p.Start.Add(times(early) - d.interval/20), p.Start.Add(times(most) + d.interval/50)
	}
	low, high = p.Over.Add(min(time.Second, d.interval)), p.Over.Add(max(d.interval, time.Second))
	if d.release { // whoever released it stands back
		high = high.Add(3 * time.Second)
	}
	return low.Add(-slack), high
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// balanced checks the shares, and that nobody else has leases.
func (j *judge) balanced(s scene) {
	loads := map[string]int{}
	for _, holder := range s.leases {
		loads[holder]++
	}
	least, most := int(^uint(0)>>1), 0
	for _, n := range s.nodes {
		least, most = min(least, loads[n]), max(most, loads[n])
	}
	if len(s.nodes) > 0 && most-least > 1 {
		j.convict(nil, "balance", "%v", loads)
	}
	if !slices.Equal(slices.Sorted(slices.Values(s.beats)), slices.Sorted(slices.Values(s.nodes))) {
		j.convict(nil, "heartbeats", "of %v, the nodes that live are %v", s.beats, s.nodes)
	}
}

// watch begins a new stretch: what was seen before does not count in it.
func (j *judge) watch() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.since = j.now()
	for _, l := range j.sessions {
		if n := len(l.grants); n > 2 {
			l.grants = append(l.grants[:0:0], l.grants[n-2:]...)
		}
		if n := len(l.polls); n > 1 {
			l.polls = append(l.polls[:0:0], l.polls[n-1])
		}
		l.spent = nil
		l.receipts = slices.DeleteFunc(l.receipts, func(r *receipt) bool { return !r.poll.Over.IsZero() })
	}
}
