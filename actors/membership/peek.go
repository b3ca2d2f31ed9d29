package membership

import (
	"time"

	"leasehold/lease"
)

// peek has the lease looked at of a session whose turn it is here.
func (m *machine) peek(id string, e *entry) {
	if !e.peeking {
		e.peeking = true
		m.out.peek = append(m.out.peek, id)
	}
}

// onPeeked claims what was free at this node's turn.
func (m *machine) onPeeked(statuses []lease.Status, now time.Time) {
	for _, s := range statuses {
		e, ok := m.entries[s.Session]
		if !ok || !e.peeking {
			continue
		}
		e.peeking = false
		switch {
		case s.Err == nil && s.Holder == "":
			if m.mayClaim(s.Session, e, byFallback, now) {
				m.claim(s.Session, e, byFallback, now)
			}
		case lease.Unknown(s.Err):
			m.wake(s.Session, e, now.Add(mostPause), byFallback)
		default:
			m.onStatus(s, e, now)
		}
	}
}
