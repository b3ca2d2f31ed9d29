package renewer

import (
	"context"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"leasehold/actors/tree"
	"leasehold/eventlog"
	"leasehold/lease"
)

// Config is what a renewer needs.
type Config struct {
	// Context is the process' own; calls to Redis end with it.
	Context context.Context
	Store   lease.Store
	// Beat writes the node's heartbeat. It may be nil.
	Beat func(ctx context.Context) error

	// Instance is the node's: by it the first cycle comes up to half an interval sooner,
	// so that nodes that start together don't renew together. Empty: no sooner.
	Instance string
	// TTL and Interval are the node's own; a lease with another TTL is renewed in
	// proportion, and four times in it at least. Margin is for TTL, and in proportion
	// too.
	TTL, Interval, Margin time.Duration
	// Stagger has the leases end one after the other.
	Stagger lease.Stagger
	// BatchSize is the most leases in one call, Flights the most calls at once to one place.
	BatchSize, Flights int

	// Batch, if set, hears how many leases each call was to renew, and how long it took.
	// It may be called from any goroutine and must not block.
	Batch func(leases int, took time.Duration)

	Log    *eventlog.Log
	Report func(tree.Failure)
}

// Margin returns how long before Redis a lease of this TTL ends for its holder,
// where a lease of the node's own TTL ends margin before.
func Margin(ttl, nodeTTL, margin time.Duration) time.Duration {
	return time.Duration(float64(margin) * float64(ttl) / float64(nodeTTL))
}

// interval is the time between renewals of leases of this TTL. Who gives a document one
// of its own may rely on a quarter of it: two minutes are extended every 30 s.
func (c Config) interval(ttl time.Duration) time.Duration {
	if ttl == c.TTL {
		return c.Interval
	}
	scaled := time.Duration(float64(c.Interval) * float64(ttl) / float64(c.TTL))
	return min(scaled, ttl/4)
}

// first is the time until the first renewals of leases that are renewed each interval. The
// heartbeat goes with them: it is not written twice in half of its own.
func (c Config) first(interval time.Duration) time.Duration {
	if c.Instance == "" {
		return interval
	}
	return interval - lease.Spread(c.Instance, interval/2)
}

// patience is how long a call waits that renews leases of this TTL, the shortest of which
// lasts so long. Without an answer there has to be as much time for a second try before
// the trust ends. For the node's own TTL the timeout of its client sees to that.
func (c Config) patience(ttl, shortest time.Duration) time.Duration {
	if ttl == c.TTL {
		return shortest
	}
	slack := shortest - c.interval(ttl) - Margin(ttl, c.TTL, c.Margin)
	return (slack - min(lease.Retry(ttl, 0), slack/2)) / 2
}

const (
	defaultBatchSize = 500
	defaultFlights   = 4

	// beatLimit bounds how long a cycle waits for the heartbeat.
	beatLimit = 250 * time.Millisecond

	// sleepCheck is how often the clocks are compared, sleepJump by how much the
	// wall clock must have run ahead to be believed.
	sleepCheck = time.Second
	sleepJump  = 200 * time.Millisecond
)

// Props returns the props of a renewer.
func Props(cfg Config) *actor.Props {
	if cfg.BatchSize <= 0 {
		cfg.BatchSize = defaultBatchSize
	}
	if cfg.Flights <= 0 {
		cfg.Flights = defaultFlights
	}
	return tree.Props(func() actor.Actor {
		return &renewerActor{
			cfg:    cfg,
			groups: make(map[time.Duration]*group),
			slots:  make(map[string]chan struct{}),
		}
	}, cfg.Report)
}
