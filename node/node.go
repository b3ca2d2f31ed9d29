package node

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"leasehold/actors/membership"
	"leasehold/actors/supervisor"
	"leasehold/actors/tree"
	"leasehold/eventlog"
	"leasehold/heartbeat"
	"leasehold/lease/cell"
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
	heart    *heartbeat.Heart // nil in one without a heartbeat
	system   *actor.ActorSystem
	tree     *supervisor.Running

	flights *cell.Set // polls
	failing *cell.Set // leases of sessions whose last poll failed; nil without a Gauge
	cells   *cell.Set // leases
	gauges  gauges

	leases    atomic.Int64
	questions atomic.Int64         // that pollers asked Redis
	plan      atomic.Pointer[plan] // nil before the first one
	failed    chan error

	// Of the life of the card: left is closed when the heartbeat has been removed, stopped
	// when no lease is left, and retired when the card has gone.
	left, stopped, retired chan struct{}

	leaving, stopping sync.Once
	running           sync.WaitGroup // the listener and the heart
	close             sync.Once
}

// Start makes a node and lets it work. A Redis that does not answer now is waited
// for.
func Start(ctx context.Context, cfg Config) (*Node, error) {
	ctx, cancel := context.WithCancel(ctx)
	n := &Node{
		cfg: cfg, ctx: ctx, cancel: cancel, failed: make(chan error, 1),
		left: make(chan struct{}), stopped: make(chan struct{}), retired: make(chan struct{}),
		flights: cell.NewSet(), cells: cell.NewSet(),
	}
	if cfg.Gauge != nil {
		n.failing = cell.NewSet()
	}
	n.cells.EndWith(ctx)
	n.makeParts()

	n.firstBeat()
	running, err := supervisor.Start(n.supervision())
	if err != nil {
		cancel()
		return nil, err
	}
	n.tree = running
	if !n.Fresh() { // it said so before there was anybody to tell
		n.tell(&membership.Fenced{Fenced: true})
	}

	if n.heart != nil {
		n.running.Go(func() { n.heart.Run(ctx) })
	}
	if n.heart != nil && cfg.Card != nil {
		n.running.Go(func() { n.publish(ctx) })
	} else {
		close(n.retired)
	}
	n.running.Go(n.listen)
	n.running.Go(func() { n.warnOfEviction(ctx) })
	n.running.Go(n.sweep)
	if cfg.Gauge != nil {
		n.running.Go(n.feelPulse)
		n.running.Go(n.lookForOverdue)
	}
	return n, nil
}

// repeat works once a pause until the node is closed.
func (n *Node) repeat(pause time.Duration, work func()) {
	ticks := time.NewTicker(pause)
	defer ticks.Stop()
	for {
		select {
		case <-n.ctx.Done():
			return
		case <-ticks.C:
			work()
		}
	}
}

func (n *Node) makeParts() {
	cfg := n.cfg
	store := cfg.Store
	store.OnForeign = newForeign(cfg.Log).note
	n.store = redisstore.New(cfg.Client, cfg.Keys, store)
	if !cfg.NoHeartbeat {
		n.heart = heartbeat.New(heartbeat.Config{
			Members: n.store, Instance: cfg.Instance,
			TTL: cfg.stagger().Heartbeat(cfg.HeartbeatTTL), Interval: cfg.HeartbeatInterval, Margin: cfg.heartMargin(),
			Fenced: func(fenced bool) { n.tell(&membership.Fenced{Fenced: fenced}) },
			Log:    cfg.Log,
		})
	}
	listen := n.listening()
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

func (n *Node) firstBeat() {
	if n.heart == nil {
		return
	}
	ctx, done := context.WithTimeout(n.ctx, firstBeatLimit)
	defer done()
	_ = n.heart.Beat(ctx) // the heart logs a failure and tries again
}

// Wake says that the node's requests have something.
func (n *Node) Wake() { n.tell(&membership.EventsReady{}) }

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

// Fresh reports whether the node's heartbeat can be trusted, where it has one.
func (n *Node) Fresh() bool { return n.heart == nil || n.heart.Fresh() }

// Drain hands all leases back. Polls in flight may go on for grace. It returns nil
// when no lease is left, else why some may be; either way Close must follow.
func (n *Node) Drain(ctx context.Context, grace time.Duration) error {
	left := n.leave(ctx)
	defer n.gauges.over.Store(true)
	err := n.tree.Drain(ctx, grace)
	<-left
	n.retire()
	return err
}

// leave removes the heartbeat. Where Redis is slow that goes on beside the drain: what is
// left behind has the others plan with this node for a TTL.
func (n *Node) leave(ctx context.Context) (done <-chan struct{}) {
	n.leaving.Do(func() {
		if n.heart == nil {
			close(n.left)
			return
		}
		go func() {
			defer close(n.left)
			if err := n.heart.Leave(ctx); err != nil { // its TTL does it then
				n.cfg.Log.Emit(eventlog.RedisDown{Err: err})
			}
		}()
	})
	within(leaveLimit, n.left)
	return n.left
}

// within waits for the end of something, and no longer than limit.
func within(limit time.Duration, done <-chan struct{}) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	}
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
