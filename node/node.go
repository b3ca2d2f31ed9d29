package node

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"golang.org/x/sync/semaphore"

	"leasehold/actors/leaseholder"
	"leasehold/actors/membership"
	"leasehold/actors/poller"
	"leasehold/actors/renewer"
	"leasehold/actors/supervisor"
	"leasehold/actors/tree"
	"leasehold/eventlog"
	"leasehold/heartbeat"
	"leasehold/redisevents"
	"leasehold/redisstore"
)

// Node is a running node. Its methods may be called from any goroutine.
type Node struct {
	cfg    Config
	ctx    context.Context // ends with Close
	cancel context.CancelFunc

	store    *redisstore.Store
	listener *redisevents.Listener
	heart    *heartbeat.Heart
	system   *actor.ActorSystem
	tree     *supervisor.Running

	leases  atomic.Int64
	failed  chan error
	running sync.WaitGroup // the listener and the heart
	close   sync.Once
}

// Start makes a node and lets it work. A Redis that does not answer now is waited
// for.
func Start(ctx context.Context, cfg Config) (*Node, error) {
	ctx, cancel := context.WithCancel(ctx)
	n := &Node{cfg: cfg, ctx: ctx, cancel: cancel, failed: make(chan error, 1)}
	n.makeParts()

	first, done := context.WithTimeout(ctx, firstBeatLimit)
	defer done()
	_ = n.heart.Beat(first) // the heart logs a failure and tries again
	running, err := supervisor.Start(n.supervision())
	if err != nil {
		cancel()
		return nil, err
	}
	n.tree = running
	if !n.heart.Fresh() { // it said so before there was anybody to tell
		n.tell(&membership.Fenced{Fenced: true})
	}

	n.running.Go(func() { n.heart.Run(ctx) })
	n.running.Go(n.listen)
	n.running.Go(func() { n.warnOfEviction(ctx) })
	return n, nil
}

func (n *Node) makeParts() {
	cfg := n.cfg
	store := cfg.Store
	store.OnForeign = newForeign(cfg.Log).note
	n.store = redisstore.New(cfg.Client, cfg.Keys, store)
	n.heart = heartbeat.New(heartbeat.Config{
		Members: n.store, Instance: cfg.Instance,
		TTL: cfg.HeartbeatTTL, Interval: cfg.HeartbeatInterval, Margin: cfg.heartMargin(),
		Fenced: func(fenced bool) { n.tell(&membership.Fenced{Fenced: fenced}) },
		Log:    cfg.Log,
	})
	listen := cfg.Listen
	listen.Client, listen.Keys, listen.DB, listen.Mode = cfg.Client, cfg.Keys, cfg.DB, cfg.Events
	listen.Notify = func() { n.tell(&membership.EventsReady{}) }
	listen.Observer = observer{log: cfg.Log}
	n.listener = redisevents.New(listen)
	n.system = actor.NewActorSystem(actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger {
		return slog.New(cfg.Log.SlogHandler())
	}))
	if cfg.Hold != nil {
		tree.Hold(n.system, cfg.Hold)
	}
}

// supervision says how the tree of actors is made.
func (n *Node) supervision() supervisor.Config {
	cfg := n.cfg
	report := func(f tree.Failure) {
		cfg.Log.Emit(eventlog.ActorFailed{Actor: f.Actor, Reason: f.During + ": " + f.Reason, Stack: f.Stack})
	}
	gate := semaphore.NewWeighted(int64(cfg.Concurrency))
	pollers := &poller.Deps{Ledger: n.store, Poll: cfg.Poll, Gate: gate, Results: cfg.Results, Log: cfg.Log, Report: report}

	return supervisor.Config{
		System: n.system,
		Report: report,
		Renewer: func() *actor.Props {
			return renewer.Props(renewer.Config{
				Context: n.ctx, Store: n.store, Beat: n.heart.Beat,
				TTL: cfg.LeaseTTL, Interval: cfg.RenewInterval, Margin: cfg.Margin,
				Log: cfg.Log, Report: report,
			})
		},
		Membership: func(renewer *actor.PID) *actor.Props {
			holders := &leaseholder.Deps{
				Context: n.ctx, Renewer: renewer, Log: cfg.Log, Report: report,
				Poller: func(c poller.Config) *actor.Props { return poller.Props(pollers, c) },
			}
			return membership.Props(membership.Config{
				Settings: n.settings(),
				Context:  n.ctx, Store: n.store, Members: n.store, Source: n.store, Events: n.listener,
				Holder:  func(c leaseholder.Config) *actor.Props { return leaseholder.Props(holders, c) },
				Renewer: renewer, Log: cfg.Log, Report: report,
				Owned: func(leases int) { n.leases.Store(int64(leases)) },
			})
		},
	}
}

func (n *Node) settings() membership.Settings {
	return membership.Settings{
		Instance: n.cfg.Instance,
		TTL:      n.cfg.LeaseTTL, Margin: n.cfg.Margin, Reconcile: n.cfg.ReconcileInterval,
		MaxSessions: n.cfg.MaxSessions,
		Keys:        n.cfg.Keys, Defaults: n.cfg.Defaults, CheckID: n.cfg.CheckID,
	}
}

// tell passes a message to the membership actor, once there is one.
func (n *Node) tell(m membership.Message) {
	if n.tree != nil {
		n.tree.Tell(m)
	}
}

func (n *Node) listen() {
	if err := n.listener.Run(n.ctx); err != nil && n.ctx.Err() == nil {
		n.fail(err)
	}
}

func (n *Node) fail(err error) {
	select {
	case n.failed <- err:
	default: // one reason is enough
	}
}

// Failed delivers the reason when the node can't go on.
func (n *Node) Failed() <-chan error {
	reasons := make(chan error, 1)
	go func() {
		select {
		case err := <-n.failed:
			reasons <- err
		case err := <-n.tree.Failed():
			reasons <- err
		case <-n.ctx.Done():
		}
	}()
	return reasons
}

// Leases is how many sessions the node holds now.
func (n *Node) Leases() int { return int(n.leases.Load()) }

// Fresh reports whether the node's heartbeat can be trusted.
func (n *Node) Fresh() bool { return n.heart.Fresh() }

// Drain hands all leases back. Polls in flight may go on for grace. It returns nil
// when no lease is left, else why some may be; either way Close must follow.
func (n *Node) Drain(ctx context.Context, grace time.Duration) error {
	leave, done := context.WithTimeout(ctx, leaveLimit)
	defer done()
	if err := n.heart.Leave(leave); err != nil { // its TTL does it then
		n.cfg.Log.Emit(eventlog.RedisDown{Err: err})
	}
	return n.tree.Drain(ctx, grace)
}

// Close stops what is still running and waits for it.
func (n *Node) Close() {
	n.close.Do(func() {
		n.tree.Kill()
		n.cancel()
		n.running.Wait()
		n.system.Shutdown()
	})
}
