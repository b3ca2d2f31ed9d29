package membership

import (
	"errors"
	"time"

	"leasehold/lease"
	"leasehold/session"
)

// Known is what a node knows of the fleet's sessions. It is for people: nothing is
// decided by it.
type Known struct {
	// Owned are the sessions that this node has a leaseholder for. Of the others that
	// are to be polled, Unleased are those that the last looks at their leases found
	// free, or behind a key of another type, and Elsewhere all else.
	Owned, Elsewhere, Unleased int
	// Paused, External and Invalid are documents that no node polls.
	Paused, External, Invalid int

	// FreeSince is since when the longest of the unleased ones is free, as far as this
	// node knows; zero: none is.
	FreeSince time.Time
	// Free is for how long, in all and since the node began, sessions were free that its
	// looks found so. What came and went between two looks is not in it.
	Free time.Duration
}

// free is a session that a look found without a holder.
type free struct {
	since   time.Time
	counted time.Time // up to when it is in the sum
}

// coverage sums up for how long sessions of others have no holder. It looks at what the
// machine knows, and changes none of it.
type coverage struct {
	free map[string]free
	sum  time.Duration
}

// look takes in a look at leases, after the machine.
func (v *coverage) look(m *machine, statuses []lease.Status, now time.Time) {
	if v.free == nil {
		v.free = make(map[string]free)
	}
	for _, s := range statuses {
		e, ok := m.entries[s.Session]
		switch {
		case !ok || s.Err != nil && !errors.Is(s.Err, lease.ErrForeign): // behind a key of another's nobody has it
			continue
		case s.Holder != "":
			delete(v.free, s.Session)
			continue
		}
		f, known := v.free[s.Session]
		if !known {
			f.since = freeSince(e, now)
			f.counted = f.since
		}
		v.sum += now.Sub(f.counted)
		f.counted = now
		v.free[s.Session] = f
	}
}

// freeSince is since when a session is free that a look found so: since its lease was
// heard to go, or since it is known if nobody is known to have had it.
func freeSince(e *entry, now time.Time) time.Time {
	switch {
	case !e.freedAt.IsZero():
		return e.freedAt
	case e.ledAt.IsZero():
		return e.since
	default:
		return now
	}
}

// known counts the sessions.
func (v *coverage) known(m *machine) Known {
	k := Known{Owned: len(m.children), Invalid: len(m.invalid), Free: v.sum}
	pollable := 0
	for _, e := range m.entries {
		switch {
		case e.session.Paused:
			k.Paused++
		case e.session.Kind == session.External:
			k.External++
		default:
			pollable++
		}
	}
	for id, f := range v.free {
		e, ok := m.entries[id]
		if !ok || m.held[id] != nil || e.holder != "" && !e.foreign || !e.session.Pollable() {
			delete(v.free, id) // or it has been taken since
			continue
		}
		k.Unleased++
		if k.FreeSince.IsZero() || f.since.Before(k.FreeSince) {
			k.FreeSince = f.since
		}
	}
	if len(v.free) == 0 {
		v.free = nil // after a start it had room for all sessions
	}
	k.Elsewhere = max(0, pollable-k.Owned-k.Unleased)
	return k
}

// tellKnown reports what is known, to who wants to hear it.
func (a *membershipActor) tellKnown() {
	if a.cfg.Known != nil {
		a.cfg.Known(a.coverage.known(a.machine))
	}
}
