package poller

import (
	"context"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"leasehold/actors/tree"
	"leasehold/eventlog"
	"leasehold/gate"
	"leasehold/lease"
	"leasehold/lease/cell"
	"leasehold/results"
	"leasehold/session"
)

// Job is one poll to do.
type Job struct {
	Session session.Session
	Grant   lease.Grant
	// Attempt is its name in Redis.
	Attempt int64
	// Delay is how late it begins after the slot that it serves; below zero where that
	// is not known.
	Delay time.Duration
	// Holds reports whether the lease does, from any goroutine: to be asked right before
	// anything is sent.
	Holds func() bool
}

// Outcome is what a poll brought.
type Outcome struct {
	OK     bool
	Class  string // "success", or the class of the failure
	Err    error  // nil when OK; must not hold a secret
	Status int    // of an HTTP answer
	Bytes  int64  // read of the answer
	Body   []byte // the answer's first bytes, where the session keeps them
	Trace  string // the ID of its trace; empty where none is sent
}

// Success is the class of a poll that went well, Canceled that of one which was
// ended by its lease or its node and says nothing about the target.
const (
	Success  = "success"
	Canceled = "canceled"
	Panicked = "panic"
)

// Func does one poll. It ends soon after ctx has ended, and may be called from
// any goroutine.
type Func func(ctx context.Context, job Job) Outcome

// Gate bounds the polls in flight on this node; gate.Gate is one.
type Gate interface {
	// Enter takes a place, or has ready called once it is there.
	Enter(ready func()) (p *gate.Place, atOnce bool)
}

// Hosts bounds the polls in flight of each host; httppoll.Hosts is one.
type Hosts interface {
	// Enter takes a place among the polls of the URL's host, or has ready called once it
	// is there.
	Enter(url string, ready func()) (p *gate.Place, atOnce bool)
}

// Deps is what all pollers of a node share. It is not changed after the first
// poller was made.
type Deps struct {
	Ledger lease.Ledger
	// TTL is the fleet's, of sessions that name none. Timeout bounds a call of the Ledger.
	TTL, Timeout time.Duration
	// Question numbers what the Ledger is asked, higher with each call as [lease.Slot]
	// has it. It may be called from any goroutine.
	Question func() int64
	Poll     Func
	Gate     Gate
	// Hosts is asked before Gate, so that those who wait for a host take no place from
	// others. It may be nil.
	Hosts Hosts
	// Results hears of results that were recorded or refused. It may be nil.
	Results *results.Hub
	// Flights has the cells under which polls are in flight. It may be nil.
	Flights *cell.Set
	// Failing gets the cells whose last poll failed, and loses them when one succeeds, not
	// when they end. It may be nil.
	Failing *cell.Set
	Log     *eventlog.Log
	// Report hears of panics. It may be nil.
	Report func(tree.Failure)
}

// Config is one poller's own.
type Config struct {
	Cell    *cell.Cell
	Session *session.Session
	// First is how long the first slot is away; zero means at once.
	First time.Duration
	// HeldOff is how long Redis is not asked in any case: a poll of who had the session
	// may be in flight, and Redis may not know of it.
	HeldOff time.Duration
}

// Maker returns what makes the props of a poller, for one spawn each. The poller's parent
// gets Failed messages.
func Maker(deps *Deps) func(Config) *actor.Props {
	kind := tree.NewKind(deps.Report)
	return func(cfg Config) *actor.Props {
		return kind.Props(&pollerActor{
			deps: deps, cell: cfg.Cell, first: cfg.First, heldOff: cfg.HeldOff, machine: machine{session: cfg.Session},
		})
	}
}
