package leaseholder

import (
	"context"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"leasehold/actors/poller"
	"leasehold/actors/tree"
	"leasehold/eventlog"
	"leasehold/lease"
	"leasehold/lease/cell"
	"leasehold/session"
)

// Deps is what all leaseholders of a node share. It is not changed after the
// first leaseholder was made.
type Deps struct {
	// Context is the process' own: every cell ends with it.
	Context context.Context
	// Renewer gets the messages of package renewer.
	Renewer *actor.PID
	// Poller makes the props of a child that polls under a cell. It gets the messages
	// of package poller, and [renewer.Suspended].
	Poller func(poller.Config) *actor.Props
	// Cells has those of all leases that are held. It may be nil.
	Cells  *cell.Set
	Log    *eventlog.Log
	Report func(tree.Failure)
}

// Config is one leaseholder's own.
type Config struct {
	Term    lease.Term
	TTL     time.Duration
	Session *session.Session
	// First is how long the first slot is away, HeldOff for how long nothing is polled in
	// any case.
	First, HeldOff time.Duration
}

// Maker returns what makes the props of a leaseholder, for one spawn each. The
// leaseholder's parent gets Ended, and has to stop it then.
func Maker(deps *Deps) func(Config) *actor.Props {
	kind := tree.NewKind(deps.Report)
	return func(cfg Config) *actor.Props { return kind.Props(&holderActor{deps: deps, first: &cfg}) }
}
