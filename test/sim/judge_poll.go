package sim

import (
	"slices"
	"strconv"
	"time"

	"leasehold/internal/nodetest"
)

// Began implements nodetest.Observer.
func (j *judge) Began(p *nodetest.Poll) {
	j.mu.Lock()
	defer j.mu.Unlock()
	l := j.ledger(p.Session)
	token := int64(p.Token)
	j.saw(l, "poll by", p.Instance, token)
	j.settled(l)
	j.checked(l, p)
	j.alone(l, p)
	g := l.find(p.Instance, token)
	if g == nil {
		j.convict(l, "fail closed", "%s polls with token %d, which it never got", p.Instance, token)
	} else {
		j.trusted(l, p, g)
	}
	j.renewable(l, p)
	l.flying = append(l.flying, &flight{p, g})
	l.polls = append(l.polls, p)
	l.receipts = append(l.receipts, &receipt{poll: p, at: l.start.at})
}

// checked finds the start that begin has recorded for the poll.
func (j *judge) checked(l *ledger, p *nodetest.Poll) {
	if s := l.start; s.token != int64(p.Token) || s.used {
		j.convict(l, "checked", "%s polls with token %d, and begin recorded no start for it", p.Instance, p.Token)
	}
	l.start.used = true
}

// trusted says whether a poll may start under a grant.
func (j *judge) trusted(l *ledger, p *nodetest.Poll, g *grant) {
	if trust := j.trust(g); p.Start.After(trust) {
		j.convict(l, "fail closed", "%s polls %s after it has to stop", p.Instance, p.Start.Sub(trust))
	}
	begun := l.start.token == g.token && l.start.seen.Before(g.forced) // and the answer was on its way
	if !begun && (g != l.current() || !g.ended.IsZero()) {
		j.doubt(l, j.byData(l, g.extended), "fail closed", "%s polls with token %d, but %s has the lease (token %d)",
			p.Instance, p.Token, l.current().holder, l.current().token)
	}
}

// denial is the first renewal that Redis refused since it accepted one.
type denial struct {
	caller

	at time.Time
}

// denied books that Redis refuses a command of a script. A renewal with it does nothing for
// any of its leases.
func (j *judge) denied(cmd string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if cmd != "PEXPIRE" || j.running.name != "renew" {
		return
	}
	for i := 0; i < len(j.running.keys); i += 2 {
		n, by := j.parse(j.running.keys[i]), j.running.caller(i/2)
		by.busy = "" // of the same lease it may be another
		if n.of != nil && n.of.denied.caller != by {
			n.of.denied = denial{by, j.now()}
		}
	}
}

// renewable checks that no poll starts under a lease whose last renewal was refused, once
// its holder has heard of that or given up waiting.
func (j *judge) renewable(l *ledger, p *nodetest.Poll) {
	d := l.denied
	if d.holder != p.Instance || d.token != strconv.FormatInt(int64(p.Token), 10) {
		return
	}
	if known := d.at.Add(j.set.timeout); p.Start.After(known) {
		j.doubt(l, func() (string, bool) {
			return "a process stood still", j.stood(p.Instance, known, p.Start)
		}, "fail closed", "%s polls %s after Redis refused to renew its lease", p.Instance, p.Start.Sub(d.at))
	}
}

// alone looks for another poll of the session in flight.
func (j *judge) alone(l *ledger, p *nodetest.Poll) {
	now := p.Start
	for _, f := range l.flying {
		from, by := f.told(now), f.Instance
		lost, nameless := j.unseen(l, p.Instance, from) || by != p.Instance && j.misled(l, p, f.Start), j.nameless(from)
		newborn := slices.ContainsFunc(j.emptied, func(at time.Time) bool {
			return !at.Before(from) && j.losses.untold(p.Instance, at)
		})
		last := f.Start // when it has to be over
		if f.grant != nil {
			last = j.trust(f.grant)
		}
		if f.Until.After(f.Start) && f.Until.Before(last) {
			last = f.Until
		}
		j.doubt(l, func() (string, bool) {
			if !last.After(now) && j.stood(by, last, now) {
				return "a process stood still", true
			}
			if newborn {
				return "Redis forgot, and nobody told a node that started afterwards", true
			}
			if nameless {
				return "another Redis, that did not say so", true
			}
			return "Redis forgot, and gave no sign", lost
		}, "two polls at once", "%s (token %d) begins, that of %s (token %d) goes on since %s", p.Instance, p.Token, by, f.Token, now.Sub(f.Start))
	}
}

// nameless reports whether, since from, another server took the place of the one before
// when no node could ask which it is.
func (j *judge) nameless(from time.Time) bool {
	return slices.ContainsFunc(j.emptied, func(at time.Time) bool { return !at.Before(from) && j.facts.nameless(at) })
}

// unseen reports whether Redis lost, since from, what would have told an instance of a poll
// in flight, in a way that it could not see. After a fail-over nodes leave alone for a while
// what was others', unless they started only then.
func (j *judge) unseen(l *ledger, instance string, from time.Time) bool {
	lagged := !l.rewound.Before(from) && (j.facts.nameless(l.rewound) || j.losses.untold(instance, l.rewound))
	return lagged || !j.flushed.Before(from) || !l.erased.Before(from)
}

// misled reports whether a flush took the session away from who polls now, unseen, so that
// at a moment after that it still had the session for all it knew, and nobody else.
func (j *judge) misled(l *ledger, p *nodetest.Poll, at time.Time) bool {
	return slices.ContainsFunc(l.grants, func(g *grant) bool {
		return g.holder == p.Instance && g.token != int64(p.Token) && g.ended.IsZero() &&
			!g.extended.After(j.flushed) && j.trust(g).After(at)
	})
}

// Over implements nodetest.Observer.
func (j *judge) Over(p *nodetest.Poll) {
	j.mu.Lock()
	defer j.mu.Unlock()
	l := j.ledger(p.Session)
	what := "poll over by"
	if p.Canceled {
		what = "poll canceled by"
	}
	j.saw(l, what, p.Instance, int64(p.Token))
	l.over(p)
	for i, f := range l.flying {
		if f.Poll != p {
			continue
		}
		l.flying = append(l.flying[:i], l.flying[i+1:]...)
		if f.grant != nil {
			j.outlived(l, p, j.trust(f.grant))
		}
		return
	}
}

// outlived says whether a poll ended in time.
func (j *judge) outlived(l *ledger, p *nodetest.Poll, trust time.Time) {
	if !p.Over.After(trust) {
		return
	}
	by, over := p.Instance, p.Over
	j.doubt(l, func() (string, bool) {
		return "a process stood still", j.stood(by, trust, over)
	}, "fail closed", "the poll of %s ends %s after it has to", by, p.Over.Sub(trust))
}

// prompt is how long after a thaw a process may take to give up what was overdue.
const prompt = 10 * time.Millisecond

// never is the thaw of a process that is dead, or has not gone on yet.
var never = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)

// still reports whether a process stood still, or was dead, at a moment.
func (j *judge) still(instance string, at time.Time) bool {
	return !j.facts.thaw(instance, at).IsZero()
}

// stood reports whether a process stood still, or was dead, from a moment on without a
// break until another.
func (j *judge) stood(instance string, from, to time.Time) bool {
	thaw := j.facts.thaw(instance, from)
	return !thaw.IsZero() && !to.After(thaw.Add(prompt))
}
