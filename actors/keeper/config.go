package keeper

import (
	"context"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"leasehold/actors/leaseholder"
	"leasehold/actors/membership"
	"leasehold/actors/tenure"
	"leasehold/actors/tree"
	"leasehold/eventlog"
	"leasehold/lease"
)

// Config is what a keeper needs.
type Config struct {
	// Context is the process' own; calls to Redis end with it.
	Context context.Context
	// Holder is whom leases are taken for.
	Holder      string
	TTL, Margin time.Duration
	Store       lease.Store
	Members     lease.Members
	// Requests and Events announce themselves by membership.EventsReady.
	Requests Requests
	Events   membership.Events
	// Leaseholders returns what makes the props of leaseholders whose children are
	// tenures, with opened as their hook.
	Leaseholders func(opened func(*tenure.Tenure)) func(leaseholder.Config) *actor.Props
	// Renewer gets the messages of package renewer.
	Renewer *actor.PID
	// Owned hears how many leases there are, on each change. It must not block.
	Owned  func(leases int)
	Log    *eventlog.Log
	Report func(tree.Failure)
}

const (
	// claimBatch is the most leases in one call.
	claimBatch = 500
	// callLimit bounds a call to Redis.
	callLimit = time.Minute
	// othersFor is how many TTLs another holder is remembered: longer than he can go
	// on after Redis forgot him.
	othersFor = 3
)

// Props returns the props of a keeper.
func Props(cfg Config) *actor.Props {
	return tree.Props(func() actor.Actor {
		return &keeperActor{cfg: cfg, machine: newMachine(cfg)}
	}, cfg.Report)
}
