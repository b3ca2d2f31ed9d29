package keeper

import (
	"errors"
	"time"

	"leasehold/actors/tenure"
	"leasehold/lease"
)

// Why a request has no other answer.
var (
	// ErrDraining: everything is being given back.
	ErrDraining = errors.New("all leases are being given back")
	// ErrFailed: the keeper or a leaseholder failed; ask again.
	ErrFailed = errors.New("the request was lost by a failure")
	// ErrUncertain: the lease was ours, and its last renewal had no answer.
	ErrUncertain = errors.New("the last renewal of the lease had no answer")
	// ErrHeldOff: Redis was restarted or replaced, and who has what is not known yet.
	ErrHeldOff = errors.New("redis was restarted: nothing is taken until other holders have noticed")
)

// Requests is where requests come from.
type Requests interface {
	// Next empties the queue.
	Next() []Request
}

// Request is what a keeper can be asked for.
//
//sumtype:decl
type Request interface{ isRequest() }

// Take asks for a lease.
type Take struct {
	Session string
	// Answer is called once and must not block. It reports false if nobody waits for
	// the answer any more.
	Answer func(Taken) bool
}

// Taken answers Take.
type Taken struct {
	// Granted says that the lease is held by this process, since now or before.
	Granted bool
	// Err is lease.ErrForeign, one of this package's errors, or says why the outcome
	// is unknown.
	Err error
}

// GiveBack asks to give a lease back. Answer gets nil once this process does not
// hold it, also if it did not before, else why that is unknown. It must not block.
type GiveBack struct {
	Session string
	Answer  func(error)
}

func (*Take) isRequest()     {}
func (*GiveBack) isRequest() {}

type (
	claimed struct {
		outcomes []lease.Outcome
		sent     time.Time
		// told says that it was asked whether somebody noted a loss of data, noted that
		// somebody has: nothing was sent then.
		told, noted bool
		ago         time.Duration // that it was seen
	}
	nothing struct{}
	// opened says that the watcher knows a leaseholder's tenure.
	opened struct{ tenure *tenure.Tenure }
)
