package renewer

import (
	"time"

	"leasehold/actors/tree"
	"leasehold/lease"
	"leasehold/lease/cell"
)

// Message is what may be sent to a renewer.
//
//sumtype:decl
type Message interface{ isMessage() }

// Track has a cell renewed until it ends, is untracked or released. Holder gets
// Suspended and Renewed. Tracking a cell again changes its TTL.
type Track struct {
	Cell   *cell.Cell
	TTL    time.Duration
	Holder tree.Mailbox
}

// Untrack ends the renewals of a grant without releasing it.
type Untrack struct{ Grant lease.Grant }

// Release ends the renewals of a grant and gives it back. ReplyTo gets Released.
type Release struct {
	Release lease.Release
	ReplyTo tree.Mailbox
	// GiveUp is when trying makes no more sense: the lease has run out by then.
	GiveUp time.Time
}

// Verify has one lease renewed now: its key may have gone. Many at once go out in
// batches.
type Verify struct{ Grant lease.Grant }

// RenewAll has every lease renewed now: Redis may have forgotten some.
type RenewAll struct{}

// Suspended tells a holder that a renewal had no answer, once each time.
type Suspended struct{ Err error }

// Renewed tells a holder that renewals go well again.
type Renewed struct{}

// Released tells a holder how its release went: nil, lease.ErrLost when the
// grant had gone before, else unknown.
type Released struct {
	Grant lease.Grant
	Err   error
}

type (
	cycle struct{ ttl time.Duration } // the group's timer
	retry struct{ ttl time.Duration }
	burst struct{ ttl time.Duration } // the heartbeat is out, the leases follow

	// renewed is the answer to one batch, already applied to the cells.
	renewed struct {
		ttl      time.Duration
		batch    []*tracked
		verdicts []lease.Verdict
	}

	verifyNow struct{}
	flush     struct{}
	released  struct {
		batch []*Release
		errs  []error
	}
	again struct{ batch []*Release } // releases to try once more

	clockCheck struct{}
)

func (*Track) isMessage()      {}
func (*Untrack) isMessage()    {}
func (*Release) isMessage()    {}
func (*RenewAll) isMessage()   {}
func (*Verify) isMessage()     {}
func (*verifyNow) isMessage()  {}
func (*cycle) isMessage()      {}
func (*retry) isMessage()      {}
func (*burst) isMessage()      {}
func (*renewed) isMessage()    {}
func (*flush) isMessage()      {}
func (*released) isMessage()   {}
func (*again) isMessage()      {}
func (*clockCheck) isMessage() {}
