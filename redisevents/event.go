package redisevents

// Event is a hint that something may have changed in Redis: it leads to a look,
// never to a decision, since anybody can publish one.
//
//sumtype:decl
type Event interface{ isEvent() }

// Cause says how a key went.
type Cause string

// The ways in which a key goes.
const (
	Expired Cause = "expired" // its TTL ran out
	Deleted Cause = "deleted" // DEL, UNLINK, PEXPIRE 0, RENAME away
	Evicted Cause = "evicted" // taken by maxmemory-policy
)

// LeaseFreed says that a lease key went.
type LeaseFreed struct {
	Session string
	Cause   Cause
}

// LeaseTaken says that a lease key was set: see Config.Takings.
type LeaseTaken struct{ Session string }

// NodeSeen says that a heartbeat was written.
type NodeSeen struct{ Instance string }

// NodeGone says that a heartbeat key went.
type NodeGone struct {
	Instance string
	Cause    Cause
}

// NodeMarked says that what is wanted of a node was changed: see [lease.Cordon].
type NodeMarked struct{ Instance string }

// SessionTouched says that a session document was created, changed or removed.
type SessionTouched struct{ ID string }

// Gap ends a stretch in which events may have been missed. Whoever gets it looks
// at everything.
type Gap struct {
	Reason string
	// Restarted says that the server is another than before, or was started anew:
	// it may have forgotten leases. Server names its present life; empty where it does
	// not tell.
	Restarted bool
	Server    string
}

func (LeaseFreed) isEvent()     {}
func (LeaseTaken) isEvent()     {}
func (NodeSeen) isEvent()       {}
func (NodeGone) isEvent()       {}
func (NodeMarked) isEvent()     {}
func (SessionTouched) isEvent() {}
func (Gap) isEvent()            {}
