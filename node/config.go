package node

import (
	"time"

	"github.com/redis/go-redis/v9"

	"leasehold/actors/keeper"
	"leasehold/actors/poller"
	"leasehold/actors/tenure"
	"leasehold/eventlog"
	"leasehold/lease"
	"leasehold/redisevents"
	"leasehold/rediskey"
	"leasehold/redisstore"
	"leasehold/results"
	"leasehold/session"
)

// Config is what a node is made of.
type Config struct {
	// Instance is new at every start and unique in the fleet.
	Instance string
	Client   redis.UniversalClient
	Keys     rediskey.Keys
	DB       int
	Store    redisstore.Options
	Events   redisevents.Mode
	// Listen has the paces of the event subscription; zero means their defaults.
	// Start sets its other fields itself.
	Listen redisevents.Config

	LeaseTTL, RenewInterval, Margin time.Duration
	HeartbeatTTL, HeartbeatInterval time.Duration
	ReconcileInterval               time.Duration
	MaxSessions, Concurrency        int
	Defaults                        session.Defaults
	CheckID                         func(id string) error

	// Poll does the polls of all kinds of sessions. Without it the node polls nothing,
	// and leases what Requests asks for.
	Poll poller.Func
	// Hosts bounds the polls of each host; nil: only Concurrency does.
	Hosts poller.Hosts
	// Requests asks for leases; only a node without Poll is asked. After it was given
	// something, Wake must be called.
	Requests keeper.Requests
	// Watcher hears of the node's leases. A node with Poll needs none.
	Watcher tenure.Watcher
	// NoHeartbeat keeps the node out of the fleet's members: nothing is planned for it.
	NoHeartbeat bool
	// Card is what the node says of itself in Redis; nil: nothing. One without a
	// heartbeat says nothing.
	Card *lease.Card
	// Results hears of results that were recorded or refused. It may be nil, and is
	// the caller's to close, after the node.
	Results *results.Hub
	Log     *eventlog.Log

	// Gauge, if set, has the node find out what only its metrics and its health tell.
	Gauge *Gauge

	// Hold, if set, is called before an actor handles a message and may keep it
	// waiting, as a process that is stopped does. It is for tests.
	Hold func()
}

// Database is the number of the logical database that a client works on.
func Database(client redis.UniversalClient) int {
	if c, ok := client.(*redis.Client); ok {
		return c.Options().DB
	}
	return 0 // a cluster has one
}

// heartMargin is how long before its end the heartbeat counts as lost here, in
// proportion to the leases' margin.
func (c Config) heartMargin() time.Duration {
	return time.Duration(float64(c.Margin) * float64(c.HeartbeatTTL) / float64(c.LeaseTTL))
}

// stagger has the leases of a node that died end over a fiftieth of their TTL: 600 ms of
// 30 s, for a thousand leases that Redis needs 20 ms to grant anew. Where interval and margin
// leave less than a tenth of a TTL the leases are not staggered: renewals need it.
func (c Config) stagger() lease.Stagger {
	const share = 50
	if c.LeaseTTL-c.RenewInterval-c.Margin < c.LeaseTTL/10 ||
		c.HeartbeatTTL-c.HeartbeatInterval-c.heartMargin() < c.HeartbeatTTL/10 {
		return 0
	}
	return share
}

// firstBeatLimit bounds the wait for the first heartbeat.
const firstBeatLimit = 5 * time.Second

// pollEnd is how much longer than Redis was told a poll may take to end.
const pollEnd = 2 * time.Second

// leaveLimit is how long leases wait for the removal of the heartbeat before they are
// handed back in any case.
const leaveLimit = 500 * time.Millisecond
