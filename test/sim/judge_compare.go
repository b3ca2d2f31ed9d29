package sim

import (
	"cmp"
	"slices"
	"time"
)

// truth is what Redis has of a session.
type truth struct {
	holder string
	token  int64
	left   time.Duration // of the lease; zero: it has no expiry
	busy   int64         // the token of the poll that is marked
	last   string        // the last start that begin recorded
	// replica says that this server took over, from one whose last writes it may not have.
	replica bool
}

// compareOne checks that the ledger knows what Redis has: the judge of the judge. It
// needs the lock.
func (j *judge) compareOne(l *ledger, t truth) {
	now, g := j.now(), l.current()
	since := j.since
	if g != nil {
		since = g.told()
	}
	excused := j.byData(l, since)
	if l.known && t.token != l.counter {
		j.doubt(l, excused, "judge", "the counter is %d, not %d", t.token, l.counter)
	}
	l.counter, l.known = t.token, t.token != 0
	same := g != nil && g.holder == t.holder && (g.token == t.token || g.token == unknown || t.token == 0)
	switch {
	case t.holder == "" && (g == nil || !g.sure(now)):
	case same && (g.alive(now) || t.left == 0): // without expiry: a fault's doing, checked where it was done
	case t.holder == "":
		j.doubt(l, excused, "judge", "the lease of %s should be there", g.holder)
		g.ended = now
	default:
		j.doubt(l, excused, "judge", "the lease is that of %s (token %d)", t.holder, t.token)
		if !same {
			j.follow(l, t)
		}
	}
}

// follow takes over what another server has. It needs the lock.
func (j *judge) follow(l *ledger, t truth) {
	now, g := j.now(), l.current()
	l.counter, l.known = t.token, t.token != 0
	if (t.token != 0 || t.replica) && (t.token < l.high || l.hidden(t)) { // else all is gone, as nodes can see
		l.rewound = now
	}
	if t.token != 0 {
		l.high = min(l.high, t.token)
	}
	switch {
	case t.holder == "" && g != nil && g.ended.IsZero():
		g.ended = now
	case t.holder == "", g != nil && g.holder == t.holder && g.token == t.token:
	default:
		copied := grant{holder: t.holder, token: cmp.Or(t.token, unknown), begun: now, extended: now.Add(t.left - j.set.ttl), checked: now, ttl: j.set.ttl}
		if old := l.find(t.holder, t.token); old != nil {
			copied = *old
			copied.ended = time.Time{}
			l.repoint(old, &copied)
		}
		l.grants = append(l.grants, &copied)
		j.saw(l, "another server has the lease of", t.holder, t.token)
	}
}

// hidden reports whether a poll is in flight of which Redis knows nothing.
func (l *ledger) hidden(t truth) bool {
	return slices.ContainsFunc(l.flying, func(f *flight) bool {
		token := int64(f.Token)
		return token == l.start.token && (t.busy != token || t.last != l.start.at)
	})
}
