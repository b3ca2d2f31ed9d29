package fleetview

import (
	"time"

	"leasehold/lease"
	"leasehold/schedule"
	"leasehold/session"
)

// State says in one word how a session is.
type State string

// The states of sessions.
const (
	OK       State = "ok"       // leased by a node that is alive or stopping, its last poll succeeded
	Failing  State = "failing"  // leased by a node that is alive or stopping, its last poll failed
	Unleased State = "unleased" // nobody has its lease
	Orphaned State = "orphaned" // its lease is that of a node without a heartbeat
	API      State = "api"      // leased by a worker, over the lease API or a library
	External State = "external" // for workers alone, and none has its lease
	Paused   State = "paused"
	Invalid  State = "invalid" // its document, or a key of it, can't be used
)

// States returns all states, the ones to worry about first.
func States() []State {
	return []State{Unleased, Orphaned, Failing, Invalid, Paused, External, API, OK}
}

// State judges a session.
func (n Nodes) State(s Session) State {
	holder := s.Lease.Holder
	_, alive := n[holder]
	switch {
	case s.Problem != "":
		return Invalid
	case s.Spec.Paused:
		return Paused
	case holder == "" && s.Spec.Kind == session.External:
		return External
	case holder == "":
		return Unleased
	case !alive && (s.Spec.Kind == session.External || !lease.InstanceForm(holder)):
		return API // what is for workers alone has no node that could be gone
	case !alive && !s.Stopping:
		return Orphaned
	case s.Lease.Failures > 0:
		return Failing
	default:
		return OK
	}
}

// cordoned reports whether all nodes are.
func (n Nodes) cordoned() bool {
	for _, m := range n {
		if m.Cordon == lease.Open {
			return false
		}
	}
	return true
}

// Late returns how long a session that nodes poll has been overdue at now, by the
// clock of the Redis server; zero while it has let no more than two slots pass, or where
// it is up to a worker.
func (n Nodes) Late(s Session, now time.Time) time.Duration {
	switch n.State(s) {
	case OK, Failing, Unleased, Orphaned:
	case API, External, Paused, Invalid:
		return 0
	}
	if s.Spec.Kind == session.External { // a library with a heartbeat has it
		return 0
	}
	return schedule.Overdue(s.Spec.Policy(), s.Lease.Due(), now, s.Spec.Timeout)
}
