package lease

import (
	"context"
	"time"
)

// Inspector reads what is known of sessions, for people. Like a [Reader], it answers
// in the order of its arguments, each answer of one moment.
type Inspector interface {
	Inspect(ctx context.Context, sessions []string) []Inspection
}

// Inspection is a lease and its session's polls. Times are of the Redis server's clock.
type Inspection struct {
	Record

	// Since is when the holder got the lease; zero: it is free, or that is not known.
	Since time.Time
	// Next is when the session is due again; zero: it was never polled.
	Next time.Time
	// Failures counts the failed polls in a row.
	Failures int
	// Last is the last poll that ended; nil: none has.
	Last *Run
}

// Due returns since when the session is due, or will be: one that was never polled is
// due when it is leased. Zero: it was neither.
func (i Inspection) Due() time.Time {
	if i.Next.IsZero() {
		return i.Since
	}
	return i.Next
}

// Run is a poll that ended.
type Run struct {
	Started      time.Time
	Duration     time.Duration
	OK           bool
	Class, Error string
	Status       int
	Bytes        int64
}
