package membership

import (
	"time"

	"leasehold/lease"
)

// Message is what may be sent to a membership actor.
//
//sumtype:decl
type Message interface{ isMessage() }

// EventsReady says that Config.Events has something.
type EventsReady struct{}

// Fenced says whether the node's heartbeat can be trusted: without it the node
// claims nothing.
type Fenced struct{ Fenced bool }

// Drain has every lease given back. The parent gets Drained when none is left.
type Drain struct{}

// Abort has the polls canceled that a drain still waits for.
type Abort struct{}

// Drained tells the parent that this node holds no lease any more.
type Drained struct{}

type (
	wake      struct{ seq uint64 } // the timer of what becomes due
	reconcile struct{}

	listed struct {
		members []lease.Member
		err     error
	}
	checked struct {
		asked   []string
		members []lease.Member
		err     error
	}
	scanned struct {
		docs []document
		read time.Time
		err  error
	}
	fetched struct {
		docs   []document
		read   time.Time
		unread []string
	}
	toldLoss struct {
		ago   time.Duration
		noted bool
		err   error
		asked time.Time
	}
	refetch struct{}                  // what could not be read is to be read once more
	relist  struct{ list, scan bool } // to be done once more
	claimed struct {
		place    string
		outcomes []lease.Outcome
		sent     time.Time
	}
	looked  struct{ statuses []lease.Status }
	peeked  struct{ statuses []lease.Status }
	planned struct {
		in     *planInput
		owners []int32
	}
)

func (*EventsReady) isMessage() {}
func (*Fenced) isMessage()      {}
func (*Drain) isMessage()       {}
func (*Abort) isMessage()       {}
func (*wake) isMessage()        {}
func (*reconcile) isMessage()   {}
func (*listed) isMessage()      {}
func (*checked) isMessage()     {}
func (*scanned) isMessage()     {}
func (*fetched) isMessage()     {}
func (*toldLoss) isMessage()    {}
func (*refetch) isMessage()     {}
func (*relist) isMessage()      {}
func (*claimed) isMessage()     {}
func (*looked) isMessage()      {}
func (*peeked) isMessage()      {}
func (*planned) isMessage()     {}
