package poller

import (
	"time"

	"leasehold/session"
)

// Message is what a poller's parent may send to it.
//
//sumtype:decl
type Message interface{ isMessage() }

// Update gives the poller a changed document. It holds from the next poll on; a shorter
// timeout also ends the one in flight, counted anew, and the session is polled again.
type Update struct{ Session *session.Session }

// Resume says that the lease cell may be usable again.
type Resume struct{}

// Stop ends the poller as soon as no poll is in flight; with Abort the poll in
// flight is canceled. A later Stop may add Abort.
type Stop struct{ Abort bool }

// tick is the slot's timer.
type tick struct{ seq uint64 }

// turn says that one of the places that an attempt waits for is there.
type turn struct{ of *queue }

// overlong says that the poll of that attempt has lasted for the timeout of a document
// that came meanwhile.
type overlong struct{ done chan struct{} }

// ran is the end of an attempt.
type ran struct {
	kind kind
	// owed is a result that Redis has not taken yet.
	owed *owed
	// wait is how long the next slot is away.
	wait time.Duration
	// failed says that the target was polled and failed, canceled that nothing was learnt
	// of it.
	failed, canceled bool
	err              error
}

// kind says how an attempt ended.
type kind int

const (
	polled   kind = iota // the poll ran, whatever came of it
	notDue               // Redis said: not yet
	unusable             // the cell could not be used
	deferred             // Redis did not answer
	lost                 // the grant no longer holds
)

// String returns the kind as logs name it.
func (k kind) String() string {
	switch k {
	case polled:
		return "polled"
	case notDue:
		return "not_due"
	case unusable:
		return "unusable"
	case deferred:
		return "unanswered"
	case lost:
		return "lost"
	default:
		return ""
	}
}

func (*Update) isMessage() {}
func (*Resume) isMessage() {}
func (*Stop) isMessage()   {}
func (*tick) isMessage()   {}
func (*turn) isMessage()   {}
func (*ran) isMessage()    {}

func (*overlong) isMessage() {}

// Failed tells the parent that a poll failed whose session wants its lease
// released then. RetryIn is when the fleet will retry.
type Failed struct{ RetryIn time.Duration }
