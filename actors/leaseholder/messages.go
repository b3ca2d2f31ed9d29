package leaseholder

import (
	"time"

	"leasehold/lease"
	"leasehold/session"
)

// Reason says why a lease was given back.
type Reason string

// The reasons of a release.
const (
	Shutdown  Reason = "shutdown"
	Rebalance Reason = "rebalance"
	Paused    Reason = "paused"
	Deleted   Reason = "deleted"
	Failure   Reason = "failure"
	Asked     Reason = "api" // whoever took it by hand gives it back
)

// cancels reports whether the poll in flight is canceled for this reason, rather
// than awaited.
func (r Reason) cancels() bool { return r == Paused || r == Deleted }

// UnheardFor is how long its parent remembers a release that had no answer: longer than
// any connection lives on which it may still be under way.
const UnheardFor = time.Hour

// Message is what a leaseholder's parent may send to it.
//
//sumtype:decl
type Message interface{ isMessage() }

// Release has the lease given back once no poll is in flight.
type Release struct{ Reason Reason }

// Abort cancels the poll in flight of a lease that is being given back.
type Abort struct{}

// Update gives the leaseholder a changed document, and the TTL that it asks for.
type Update struct {
	Session *session.Session
	TTL     time.Duration
}

// Verify has the lease looked at in Redis: its key may have gone.
type Verify struct{}

// cellEnded says that the cell's context was canceled.
type cellEnded struct{ cause error }

func (*Release) isMessage()   {}
func (*Abort) isMessage()     {}
func (*Update) isMessage()    {}
func (*Verify) isMessage()    {}
func (*cellEnded) isMessage() {}

// Ended tells the parent how the lease ended. The parent stops the actor then.
type Ended struct {
	Grant lease.Grant
	// Released is set when the lease was given back rather than lost.
	Released bool
	Reason   Reason
	// Err says why it is not known whether Redis carried the release out.
	Err error
	// Trusted is when the trust in the lease ended, or would have.
	Trusted time.Time
	// Taken is set when the lease was lost to another.
	Taken bool
	// Fault is set when the poller failed rather than a poll.
	Fault bool
	// RetryIn is when the fleet retries a session that was released on a failure.
	RetryIn time.Duration
}
