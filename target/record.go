package target

import (
	"time"

	"leasehold/lease"
)

// Record is one poll as the target saw it.
type Record struct {
	Session  string      `json:"session"`
	Instance string      `json:"instance"`
	Token    lease.Token `json:"token"`

	// Start and End are on the wall clock; From and To are the same moments on the
	// monotonic clock, since the target was made (nanoseconds in JSON). A poll still in
	// flight ends at the moment of asking.
	Start time.Time     `json:"start"`
	End   time.Time     `json:"end"`
	From  time.Duration `json:"from"`
	To    time.Duration `json:"to"`

	// Status is what was answered, zero if nothing was.
	Status int `json:"status"`
	// Gone says that the client left before the answer was complete.
	Gone bool `json:"gone,omitempty"`
	// Live says that the poll is still in flight.
	Live bool `json:"live,omitempty"`
	// Overlap says that another poll of the session was in flight at some moment. A
	// logged line says what was known when the poll ended.
	Overlap bool `json:"overlap,omitempty"`
}

// Stats are a target's counters since it was made.
type Stats struct {
	Polls    int64 `json:"polls"` // started
	InFlight int   `json:"in_flight"`
	// Overlaps counts the pairs of polls of one session that overlapped; Deepest is the
	// most polls of one session that were in flight at once, forgiven ones included.
	Overlaps int64 `json:"overlaps"`
	Deepest  int   `json:"deepest"`
	// Stale counts the polls whose token was lower than an earlier one of the session.
	Stale int64 `json:"stale"`
	// Sessions is how many different sessions were polled.
	Sessions int `json:"sessions"`
	// Unlogged counts the records that the log did not take.
	Unlogged int64 `json:"unlogged,omitempty"`
	// PerSecond is the rate of starts over the last ten full seconds, or over what has
	// passed of them.
	PerSecond float64 `json:"per_second"`
}
