package membership

import (
	"context"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"leasehold/actors/leaseholder"
	"leasehold/actors/tree"
	"leasehold/eventlog"
	"leasehold/lease"
	"leasehold/planner"
	"leasehold/redisevents"
	"leasehold/rediskey"
	"leasehold/session"
)

// Events is where hints come from; redisevents.Listener is one.
type Events interface {
	// Take empties the queue.
	Take() []redisevents.Event
	// Healthy reports whether events arrive. Without them others are asked for what
	// they should give up, and heard of by the scan.
	Healthy() bool
}

// Settings are the numbers that membership decides by.
type Settings struct {
	Instance string
	// TTL and Margin are of the node's leases; Reconcile is the scan's interval.
	TTL, Margin, Reconcile time.Duration
	// Stagger has the leases end one after the other.
	Stagger lease.Stagger
	// PollSlack is how much longer than its timeout a poll can be in flight.
	PollSlack time.Duration
	// MaxSessions is the most sessions this node takes; 0 means no limit.
	MaxSessions int
	Keys        rediskey.Keys
	Defaults    session.Defaults
	// Polling reports whether a poll of a session is in flight here. It may be nil.
	Polling func(session string) bool
	// CheckID refuses IDs beyond the rules of package rediskey. It may be nil.
	CheckID func(id string) error
}

// Config is what membership needs.
type Config struct {
	Settings

	// Context is the process' own; calls to Redis end with it.
	Context context.Context
	Store   lease.Store
	Members lease.Members
	Source  session.Source
	Events  Events
	// Owned hears how many sessions this node has a leaseholder for, on each change.
	// It must not block. It may be nil.
	Owned func(sessions int)
	// Planned hears of each new plan: owners holds, for each session of the view, its
	// node's index, or planner.None. It must not block, nor change either. It may be nil.
	Planned func(view planner.View, owners []int32)
	// Known hears, at each reconciliation and after each look at leases, what this node
	// knows. It must not block. It may be nil, and costs nothing then.
	Known func(Known)
	// Living hears how many nodes live, on each change. It must not block. It may be nil.
	Living func(nodes int)
	// Holder makes the props of a leaseholder.
	Holder func(leaseholder.Config) *actor.Props
	// Renewer gets the messages of package renewer.
	Renewer *actor.PID
	Log     *eventlog.Log
	Report  func(tree.Failure)
}

const (
	// claimBatch is the most leases in one call, claimFlights the most calls at
	// once.
	claimBatch   = 500
	claimFlights = 2
	// claimTime is about what a claim takes Redis and the node. The first poll of what was
	// just taken waits until the rest may be, too: else polls stand in the way of claims.
	claimTime = 60 * time.Microsecond

	// settle is how long the view of the fleet must have stood still before a
	// session is given up for balance, and before a node's first claims; the
	// first claims wait no longer than settleMost.
	settle     = 500 * time.Millisecond
	settleMost = 3 * settle

	// newcomer is how long a node that was seen for the first time may let sessions
	// pass: it waits up to settleMost before its first claims, and one that was cut
	// off until its next heartbeat is accepted.
	newcomer = settleMost + settle

	// rankDelay is how long a free session waits for each node that ranks before.
	// The first of them still takes a dead node's session within the bound of failover.
	rankDelay = 150 * time.Millisecond
	// fallbacks is how many nodes after the preferred one try a free session.
	fallbacks = 2

	// movesAtOnce is the most sessions that are being given up for balance.
	movesAtOnce = 200

	// echo is how long after this node took a lease the news that it ran out are of the
	// one before: a claim ends that, and is answered first.
	echo = time.Second

	// handover is how long after a lease was given up the next claim of its session comes
	// at the latest: the turns of all who rank.
	handover = 2 * time.Second

	// outlived is how long a session must not have been one to poll for nobody to poll it,
	// whatever its last owner was cut off from. Redis keeps its state for a week.
	outlived = 24 * time.Hour

	// touchAfter is how long after its deadline a key is sure to be gone.
	touchAfter = time.Millisecond

	// firstPause and mostPause bound the growing wait after a failure.
	firstPause = 250 * time.Millisecond
	mostPause  = 2 * time.Second

	// scanFleet is the size of fleet up to which each node scans everything at
	// each reconciliation; in a larger one each node scans less often.
	scanFleet = 4

	// deafPace is how often, without events, a session is tried that another should
	// give up for this node.
	deafPace = time.Second

	// keepMost is how many reconciliations long a session is kept, in the end, from an
	// owner that did not take it when it was free.
	keepMost = 64

	// standBack is what a node adds to the retry gap of a session that it released
	// after a failed poll, so that others come first.
	standBack = time.Second
)

// Props returns the props of a membership actor.
func Props(cfg Config) *actor.Props {
	return tree.Props(func() actor.Actor {
		return &membershipActor{cfg: cfg, texts: newTexts()}
	}, cfg.Report)
}
