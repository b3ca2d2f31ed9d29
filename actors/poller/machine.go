package poller

import (
	"time"

	"leasehold/session"
)

// machine decides what a poller does next. It knows no clock, no actor, no I/O.
type machine struct {
	session  *session.Session
	running  bool
	blocked  bool // waits for the cell to be usable
	stopping bool
	heldOff  bool          // until the first tick, whatever is edited
	later    time.Duration // from the end of the hold-off to the first slot
	ask      bool          // the interval changed while an attempt was under way
	misses   int           // attempts in a row that Redis did not answer
}

// effect is what the actor has to do.
type effect struct {
	do   action
	wait time.Duration // for arm; for hold, how long the poll in flight may still last, zero: as it began
}

type action int

const (
	nothing action = iota
	arm            // set the timer
	start          // start an attempt
	abort          // cancel the attempt
	hold           // let the attempt not go further than waiting for the gate
	end            // stop the actor
	yield          // tell the parent that the lease shall be released
)

// onStart arms the timer for the first slot, or for the end of a hold-off before it: what
// is edited meanwhile counts from then on.
func (m *machine) onStart(first, heldOff time.Duration) effect {
	wait := m.pace(first)
	if heldOff <= 0 {
		return effect{do: arm, wait: wait}
	}
	m.heldOff, m.later = true, max(0, wait-heldOff)
	return effect{do: arm, wait: heldOff}
}

// onTick answers the slot's timer.
func (m *machine) onTick(usable bool) effect {
	later := m.later
	m.heldOff, m.later = false, 0
	switch {
	case m.stopping || m.running:
		return effect{}
	case later > 0:
		return effect{do: arm, wait: later}
	case !usable:
		m.blocked = true
		return effect{}
	default:
		m.blocked = false
		m.running = true
		return effect{do: start}
	}
}

// onResume answers a renewal that succeeded after a failure.
func (m *machine) onResume(usable bool) effect {
	if !m.blocked {
		return effect{}
	}
	return m.onTick(usable)
}

// onUpdate takes a changed document. With another interval the due time is
// another, which Redis computes when asked. An attempt under way has the old document:
// it must not wait for the gate with it, nor for an answer longer than the new one says.
func (m *machine) onUpdate(s *session.Session, usable bool) effect {
	was := m.session
	m.session = s
	ask := s.Interval != was.Interval || s.Task() && !was.Task()
	switch {
	case m.running && m.stopping:
		return effect{}
	case m.running:
		m.ask = m.ask || ask
		e := effect{do: hold}
		if s.Timeout != was.Timeout {
			e.wait = s.Timeout
		}
		return e
	case m.heldOff:
		if ask {
			m.later = 0
		}
		return effect{}
	case !ask:
		return effect{}
	default:
		return m.onTick(usable)
	}
}

// onStop answers the parent's wish to end.
func (m *machine) onStop(cancel bool) effect {
	was := m.stopping
	m.stopping = true
	switch {
	case !m.running && was:
		return effect{} // the end is under way
	case !m.running:
		return effect{do: end}
	case cancel:
		return effect{do: abort}
	default:
		return effect{do: hold}
	}
}

// onRan answers the end of an attempt.
func (m *machine) onRan(r *ran, usable bool) effect {
	m.running = false
	if m.stopping {
		return effect{do: end}
	}
	ask := m.ask
	m.ask = false
	if r.kind != deferred {
		m.misses = 0
	}
	switch r.kind {
	case polled:
		if r.failed && m.session.OnFailure == session.Release {
			return effect{do: yield, wait: r.wait}
		}
		if ask {
			return m.onTick(usable)
		}
		return effect{do: arm, wait: m.pace(r.wait)}
	case notDue:
		if ask {
			return m.onTick(usable)
		}
		return effect{do: arm, wait: m.pace(max(r.wait, time.Millisecond))}
	case unusable:
		return m.onTick(usable)
	case deferred:
		m.misses++
		return effect{do: arm, wait: backOff(m.misses)}
	case lost: // the cell is dead, Stop is on its way
	}
	return effect{}
}

// pace is the wait before Redis is asked. A task may be asked for before it is due.
func (m *machine) pace(wait time.Duration) time.Duration {
	const often = 2 * time.Second
	if m.session.Task() {
		return min(wait, often)
	}
	return wait
}

// backOff is the wait before Redis is asked again: 250 ms, 500 ms, 1 s, 2 s.
func backOff(misses int) time.Duration {
	const first, most = 250 * time.Millisecond, 2 * time.Second
	if misses > 4 {
		return most
	}
	return min(most, first<<(max(misses, 1)-1))
}
