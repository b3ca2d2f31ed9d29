package membership

import (
	"time"

	"leasehold/actors/leaseholder"
	"leasehold/actors/renewer"
)

// onEnded takes in a leaseholder's own report. Terminated follows.
func (m *machine) onEnded(id uint64, r *leaseholder.Ended) {
	if c, ok := m.children[id]; ok {
		c.ended, c.released, c.retryIn, c.trusted = true, r.Released, r.RetryIn, r.Trusted
		c.fault, c.unheard, c.taken = r.Fault, r.Err != nil, r.Taken
		c.failure = r.Reason == leaseholder.Failure && !r.Fault
		c.forgot = r.Released && r.Reason == leaseholder.Deleted
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
	if !c.released || c.unheard {
		m.left[c.session] = c.token
	}
	if c.unheard {
		m.burn(c.session, c.token, now)
	}
	e, ok := m.entries[c.session]
	gone := m.removed(c.session)
	if !c.ended || gone && !c.forgot {
		// It failed, and nobody gave its lease back: its poll has ended with it. Or
		// its document went while it was ending: its state has to go too.
		m.handBack(m.grant(c.session, c.token), gone)
	}
	if ok {
		delete(m.surplus, c.session)
		m.afterEnd(c, e, now)
	}
	m.considerRoom(now)
}

// removed reports whether a session has no document any more. One that is invalid keeps its
// state.
func (m *machine) removed(id string) bool {
	_, valid := m.entries[id]
	_, invalid := m.invalid[id]
	return !valid && !invalid
}

// giveBackLeft has leases given back that are of no use here and may still be there,
// as one whose expiry somebody removed: no claim will find them.
func (m *machine) giveBackLeft() {
	for id, token := range m.left {
		if e, ok := m.entries[id]; ok && e.session.Pollable() || m.held[id] != nil || m.asking[id] != nil || m.handing[id] > 0 {
			continue
		}
		m.handBack(m.grant(id, token), m.removed(id))
	}
}

// turnAfterMove is this node's rank for a session that it has just given up: low
// enough for the new owner to come first, who may not hear of it.
func (m *machine) turnAfterMove(e *entry) int {
	if m.deaf {
		return int(3 * deafPace / rankDelay)
	}
	return min(m.rank(e), fallbacks+1)
}

// afterEnd says who tries a session whose lease this node no longer has.
func (m *machine) afterEnd(c *child, e *entry, now time.Time) {
	switch {
	case c.released && c.failure:
		// The others first; whoever comes waits for the retry, which Redis keeps. Somebody
		// has to have a task, which may be asked for.
		e.ours, e.freedAt, e.givenUpAt = false, now, now
		e.notBefore = now.Add(c.retryIn)
		if e.session.Task() {
			e.notBefore = now.Add(min(c.retryIn, standBack))
		}
		if m.fleet.size() > 1 {
			e.notBefore = e.notBefore.Add(standBack)
		}
		m.wake(c.session, e, e.notBefore, byFallback)
	case c.released && !c.fault:
		e.failures = 0
		e.ours, e.freedAt, e.givenUpAt = false, now, now
		if e.mine {
			m.consider(c.session, e, byEvent, now)
			return
		}
		// Should those who ought to have it have no room, it comes back here.
		m.takeTurn(c.session, e, m.turnAfterMove(e), now)
	default: // lost, or a fault of the leaseholder or its poller
		if !c.ended || c.fault {
			e.notBefore = now.Add(growing(e.failures))
			e.failures++
		}
		e.freedAt = time.Time{}
		e.lose(m.ledAt(c, e, now), now, c.oursUntil(now, m.set.Margin))
		if e.mine {
			m.consider(c.session, e, byTimer, now)
			return
		}
		m.fallBack(c.session, e, now)
	}
}

// ledAt is when somebody had a lease for the last time that its leaseholder lost, for all
// that is known here: nobody after this node's last renewal, while all others had to leave
// it alone even if Redis had forgotten it then; maybe another just now if they had not.
func (m *machine) ledAt(c *child, e *entry, now time.Time) time.Time {
	trust := m.set.Stagger.TTL(c.session, c.ttl) - renewer.Margin(c.ttl, m.set.TTL, m.set.Margin)
	renewed := c.trusted.Add(-trust)
	if alone := renewed.Add(min(trust, m.hold(e))); now.Before(renewed) || !now.Before(alone) {
		return now
	}
	return renewed
}
