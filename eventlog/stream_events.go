package eventlog

import (
	"strings"
	"time"
)

// EventsSubscribed says that Redis' notifications arrive.
type EventsSubscribed struct {
	// Flags are the server's notify-keyspace-events.
	Flags    string
	Channels []string
}

func (EventsSubscribed) head() head {
	return head{Info, "events.subscribed", "keyspace notifications arrive"}
}

func (e EventsSubscribed) fields(l *line) {
	l.opt("flags", e.Flags)
	l.opt("channels", strings.Join(e.Channels, " "))
}

// EventsLost says that notifications may have been missed; a full look follows.
type EventsLost struct {
	Reason string
	Err    error
}

func (EventsLost) head() head {
	return head{Warn, "events.lost", "notifications may have been missed"}
}

func (e EventsLost) fields(l *line) {
	l.reason(e.Reason)
	l.err(e.Err)
}

// EventsDisabled says that the node lives on the scan alone.
type EventsDisabled struct{ Reason string }

func (EventsDisabled) head() head {
	return head{Warn, "events.disabled", "no keyspace notifications, the scan alone must do"}
}

func (e EventsDisabled) fields(l *line) { l.reason(e.Reason) }

// ClaimsHeldOff says that sessions of others are left alone for a while, since Redis may
// have forgotten who has them.
type ClaimsHeldOff struct {
	Reason string
	// Duration is for how long, at the most where Err says why that is not known.
	Duration time.Duration
	Err      error
}

func (ClaimsHeldOff) head() head {
	return head{Warn, "claims.held_off", "sessions of others are left alone for a while"}
}

func (e ClaimsHeldOff) fields(l *line) {
	l.reason(e.Reason)
	l.ms("duration_ms", e.Duration)
	l.err(e.Err)
}

// ReconcileRepaired says that the scan found what events had not told.
type ReconcileRepaired struct {
	// Kind is what was repaired.
	Kind  string
	Count int
}

func (ReconcileRepaired) head() head {
	return head{Warn, "reconcile.repaired", "the scan repaired what events had missed"}
}

func (e ReconcileRepaired) fields(l *line) {
	l.str("kind", e.Kind)
	l.num("count", int64(e.Count))
}

// ReconcileFailed says that a look at everything in Redis did not come to its end: what
// events missed is not found until one does.
type ReconcileFailed struct {
	// Kind is what was looked for: member or session.
	Kind string
	Err  error
}

func (ReconcileFailed) head() head {
	return head{Warn, "reconcile.failed", "not all could be read from Redis; it is tried again"}
}

func (e ReconcileFailed) fields(l *line) {
	l.str("kind", e.Kind)
	l.err(e.Err)
}
