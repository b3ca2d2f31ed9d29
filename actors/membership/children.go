package membership

import (
	"time"

	"leasehold/actors/leaseholder"
)

// onEnded takes in a leaseholder's own report. Terminated follows.
func (m *machine) onEnded(id uint64, r *leaseholder.Ended) {
	if c, ok := m.children[id]; ok {
		c.ended, c.released, c.retryIn = true, r.Released, r.RetryIn
		c.failure = r.Reason == leaseholder.Failure && r.RetryIn > 0
	}
}

// onTerminated follows the end of a leaseholder: only now may there be another.
func (m *machine) onTerminated(id uint64, now time.Time) {
	c, ok := m.children[id]
	if !ok {
		return
	}
	delete(m.children, id)
	delete(m.held, c.session)
	if c.moving {
		m.moving--
	}
	if e, ok := m.entries[c.session]; ok {
		delete(m.surplus, c.session)
		m.afterEnd(c, e, now)
	}
	if m.set.MaxSessions > 0 {
		m.considerMine(now) // there is room again
	}
}

// afterEnd says who tries a session whose lease this node no longer has.
func (m *machine) afterEnd(c *child, e *entry, now time.Time) {
	switch {
	case c.released && c.failure:
		// The others first; whoever comes waits for the retry, which Redis keeps.
		e.ours, e.freedAt = false, now
		e.notBefore = now.Add(c.retryIn)
		if m.fleet.size() > 1 {
			e.notBefore = e.notBefore.Add(standBack)
		}
		m.wake(c.session, e, e.notBefore, byFallback)
	case c.released:
		e.failures = 0
		e.ours, e.freedAt = false, now
		if e.mine {
			m.consider(c.session, e, byEvent, now)
			return
		}
		m.fallBack(c.session, e, now)
	default: // lost, or a fault of the leaseholder
		if !c.ended {
			e.notBefore = now.Add(growing(e.failures))
			e.failures++
		}
		e.freedAt = time.Time{}
		if e.mine {
			m.consider(c.session, e, byTimer, now)
			return
		}
		m.fallBack(c.session, e, now)
	}
}
