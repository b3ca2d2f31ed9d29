package leasemanager

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"leasehold/actors/poller"
	"leasehold/config"
	"leasehold/eventlog"
	"leasehold/lease"
	"leasehold/node"
	"leasehold/redisevents"
	"leasehold/redisstore"
)

// phase is where in its life a member is.
type phase int32

const (
	idle phase = iota
	running
	stopped
)

// Member is one instance of a service, in a fleet of them. Its methods may be called
// from any goroutine.
type Member struct {
	cfg       Config
	settings  config.Config
	poll      poller.Func // nil: nothing is polled by plan
	anonymous bool
	instance  string

	book *book
	desk *desk
	log  *eventlog.Log

	phase atomic.Int32
	// life is held over Start and Stop. It is no mutex: waiting for one that is held
	// over I/O would stop the clock of a test in virtual time.
	life   chan struct{}
	done   chan struct{}                                // closed when it has stopped
	err    error                                        // of Stop; safe to read once done is closed
	unhook func() bool                                  // ends the stop by Start's context
	limit  func() (context.Context, context.CancelFunc) // bounds a drain

	client redis.UniversalClient
	store  *redisstore.Store
	nodes  []*node.Node // the first leases by hand
}

// New returns a member that does nothing yet. Its error names each setting that can
// not be used.
func New(cfg Config, options ...Option) (*Member, error) {
	settings, err := cfg.settings()
	if err != nil {
		return nil, err
	}
	m := &Member{
		cfg: cfg, settings: settings, instance: node.InstanceID(settings.InstanceName, time.Now()),
		book: newBook(), life: make(chan struct{}, 1), done: make(chan struct{}),
	}
	m.desk = &desk{wake: func() { m.nodes[0].Wake() }}
	for _, option := range options {
		option(m)
	}
	if m.anonymous && m.poll == nil {
		m.instance += lease.ByHand // what looks like a node without a heartbeat counts as dead
	}
	return m, nil
}

// InstanceID is unique in the fleet and new for each member. It ends with "/manual" for
// one without a heartbeat.
func (m *Member) InstanceID() string { return m.instance }

// Done is closed when the member has stopped: by Stop, by its context, or since it
// could not go on.
func (m *Member) Done() <-chan struct{} { return m.done }

// ready says why the member can't be asked for anything, or nil.
func (m *Member) ready() error {
	switch phase(m.phase.Load()) {
	case running:
		return nil
	case idle:
		return ErrNotStarted
	case stopped:
	}
	return ErrStopped
}

// Start begins the work, once Redis has answered; without an answer it returns why,
// and may be called again. When ctx ends the member stops, as by Stop.
func (m *Member) Start(ctx context.Context) error {
	m.life <- struct{}{}
	defer func() { <-m.life }()
	switch err := m.ready(); {
	case err == nil:
		return ErrStarted
	case errors.Is(err, ErrStopped):
		return ErrStopped
	}
	if err := m.contact(ctx); err != nil {
		return err
	}
	base := context.WithoutCancel(ctx)
	m.limit = func() (context.Context, context.CancelFunc) {
		return context.WithTimeout(base, m.settings.DrainTimeout)
	}
	if m.cfg.Log != nil {
		m.log = eventlog.New(m.cfg.Log, eventlog.Options{Level: m.cfg.LogLevel, InstanceID: m.instance})
	}
	if err := m.startNodes(base); err != nil {
		m.phase.Store(int32(stopped))
		m.err = err
		m.close()
		close(m.done)
		return err
	}
	m.phase.Store(int32(running))
	m.unhook = context.AfterFunc(ctx, func() { _ = m.Stop() })
	for _, n := range m.nodes {
		go m.follow(n.Failed())
	}
	return nil
}

// contact opens the client and waits for an answer.
func (m *Member) contact(ctx context.Context) error {
	client, err := m.cfg.open(m.settings)
	if err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, m.settings.RedisTimeout)
	defer cancel()
	if err := client.Ping(limited).Err(); err != nil {
		_ = client.Close()
		return fmt.Errorf("leasemanager: redis does not answer: %w", err)
	}
	m.client = client
	m.store = redisstore.New(client, m.settings.Keys, redisstore.Options{Timeout: m.settings.RedisTimeout})
	return nil
}

// startNodes starts the node that leases by hand, and the one that polls by plan.
func (m *Member) startNodes(ctx context.Context) error {
	hand := m.assembly()
	hand.Requests, hand.Watcher = m.desk, watcher{book: m.book}
	hand.NoHeartbeat = m.anonymous
	if m.poll != nil {
		hand.Instance += lease.ByHand
		hand.NoHeartbeat = true
	}
	if err := m.startNode(ctx, hand); err != nil || m.poll == nil {
		return err
	}
	plan := m.assembly()
	plan.Poll, plan.Watcher = m.poll, watcher{book: m.book, polled: true}
	return m.startNode(ctx, plan)
}

func (m *Member) startNode(ctx context.Context, cfg node.Config) error {
	n, err := node.Start(ctx, cfg)
	if err == nil {
		m.nodes = append(m.nodes, n)
	}
	return err
}

// assembly turns the settings into a node's parts.
func (m *Member) assembly() node.Config {
	s := m.settings
	return node.Config{
		Instance: m.instance, Client: m.client, Keys: s.Keys, DB: node.Database(m.client),
		Store: redisstore.Options{
			Timeout: s.RedisTimeout, Stream: s.ResultStream, MaxLen: s.ResultMaxLen,
		},
		Events:   redisevents.Mode(s.KeyspaceEvents),
		LeaseTTL: s.LeaseTTL, RenewInterval: s.LeaseRenewInterval, Margin: s.LeaseSafetyMargin,
		HeartbeatTTL: s.HeartbeatTTL, HeartbeatInterval: s.HeartbeatInterval,
		ReconcileInterval: s.ReconcileInterval,
		MaxSessions:       s.MaxSessions, Concurrency: s.PollConcurrency,
		Defaults: s.Defaults(),
		Log:      m.log,
	}
}

// follow stops the member when a node can't go on.
func (m *Member) follow(failed <-chan error) {
	select {
	case err := <-failed:
		_ = m.stop(fmt.Errorf("leasemanager: the member failed: %w", err))
	case <-m.done:
	}
}

// Stop gives all leases back and waits for that: contexts end, polls and callbacks
// get their chance to end, and each lease is given back after that. It takes no
// longer than Config.DrainTimeout, in which polls are canceled after four fifths. It
// answers nil when all was given back, else ErrNotDrained or why the member failed;
// called again, it answers the same. No callback begins after it has returned.
func (m *Member) Stop() error { return m.stop(nil) }

func (m *Member) stop(reason error) error {
	m.life <- struct{}{}
	defer func() { <-m.life }()
	was := phase(m.phase.Swap(int32(stopped)))
	if was == stopped {
		return m.err
	}
	defer close(m.done)
	if was == idle {
		return nil
	}
	m.unhook()
	m.err = errors.Join(reason, m.drain())
	m.close()
	return m.err
}

// drain has both nodes hand back what they hold.
func (m *Member) drain() error {
	ctx, cancel := m.limit()
	defer cancel()
	errs := make([]error, len(m.nodes))
	var drains sync.WaitGroup
	for i, n := range m.nodes {
		drains.Go(func() { errs[i] = n.Drain(ctx, m.settings.DrainTimeout*4/5) })
	}
	drains.Wait()
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("%w: %w", ErrNotDrained, err)
	}
	return nil
}

// close ends what is left.
func (m *Member) close() {
	m.book.silence()
	for _, n := range m.nodes {
		n.Close()
	}
	m.desk.close()
	_ = m.client.Close()
	m.log.Close()
}
