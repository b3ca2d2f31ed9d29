package membership

import (
	"time"

	"leasehold/lease"
)

// peek has the lease looked at of a session that this node would claim for a reason, but
// that another has mostly: a look costs Redis much less.
func (m *machine) peek(id string, e *entry, why trigger) {
	if e.peeking == "" {
		m.out.peek = append(m.out.peek, id)
	}
	e.peeking = why
}

// onPeeked claims what is free.
func (m *machine) onPeeked(statuses []lease.Status, now time.Time) {
	for _, s := range statuses {
		e, ok := m.entries[s.Session]
		if !ok || e.peeking == "" {
			continue
		}
		why := e.peeking
		e.peeking = ""
		switch {
		case s.Err == nil && s.Holder == "":
			if m.mayClaim(s.Session, e, why, now) {
				m.claim(s.Session, e, why, now)
			}
		case lease.Unknown(s.Err):
			m.wake(s.Session, e, now.Add(m.lookAgain(why)), why)
		default:
			m.onStatus(s, e, now)
		}
	}
}

// lookAgain is the wait after a look without an answer: short where this node is the one
// that should have the session.
func (*machine) lookAgain(why trigger) time.Duration {
	if why == byFallback {
		return mostPause
	}
	return firstPause
}
