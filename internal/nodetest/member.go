package nodetest

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/onsi/gomega"
	"github.com/redis/go-redis/v9"

	"leasehold/actors/poller"
	"leasehold/eventlog"
	"leasehold/internal/redistest"
	"leasehold/lease/cell"
	"leasehold/node"
	"leasehold/redisevents"
	"leasehold/rediskey"
	"leasehold/redisstore"
	"leasehold/session"
)

// Member is one node of a fleet, a simulated process of its own.
type Member struct {
	*node.Node

	Name string // the instance ID
	Link *redistest.Link
	Log  *Lines

	client *redis.Client
	log    *eventlog.Log
	halt   *halt
	ahead  atomic.Int64 // the wall clock, of the others'
	polls  *sync.WaitGroup
	closed chan struct{}
}

// Start adds a node with the default timings, changed as wanted.
func (f *Fleet) Start(change ...func(*node.Config)) *Member {
	f.started++
	link := f.Mini.Link()
	m := &Member{
		Name: fmt.Sprintf("node%d-%d-%08x", f.started, time.Now().UnixNano(), f.started),
		Link: link, Log: &Lines{}, client: link.Client(),
		halt: newHalt(), polls: &f.polls, closed: make(chan struct{}),
	}
	if !f.options.Quiet {
		m.log = eventlog.New(m.Log, eventlog.Options{Level: f.options.LogLevel, InstanceID: m.Name})
	}
	cfg := m.config(f.Target.Poll)
	if f.options.Node != nil {
		f.options.Node(&cfg)
	}
	for _, c := range change {
		c(&cfg)
	}
	do := cfg.Poll
	cfg.Poll = func(ctx context.Context, job poller.Job) poller.Outcome { return m.poll(ctx, job, do) }
	n, err := node.Start(cell.WithWall(context.Background(), m.onWall), cfg)
	f.G.Expect(err).NotTo(gomega.HaveOccurred())
	m.Node = n
	f.members = append(f.members, m)
	return m
}

func (m *Member) config(poll poller.Func) node.Config {
	return node.Config{
		Instance: m.Name, Client: m.client, Keys: rediskey.Default(),
		Events:   redisevents.Auto,
		Store:    redisstore.Options{Stream: "poll:results", Timeout: 2 * time.Second},
		LeaseTTL: 30 * time.Second, RenewInterval: 10 * time.Second, Margin: 2 * time.Second,
		HeartbeatTTL: 30 * time.Second, HeartbeatInterval: 10 * time.Second,
		ReconcileInterval: 10 * time.Second, Concurrency: 256,
		Defaults: session.Defaults{Interval: 10 * time.Second, Timeout: 5 * time.Second},
		Poll:     poll,
		Log:      m.log,
		Hold:     m.halt.wait,
	}
}

// Kill ends the node as a crash does: its polls and connections break, behind what
// is under way, and nothing is given back. Nothing of it acts any more.
func (m *Member) Kill() { m.die(killed, m.Link.Kill) }

// Vanish ends the node as a power cut does: nothing of it acts any more, but nobody
// hears of that. Its connections stay open for Redis, and its polls for the target,
// until that is done with them.
func (m *Member) Vanish() { m.die(vanished, m.Link.Vanish) }

func (m *Member) die(how end, hangUp func()) {
	if m.halt.over() {
		return
	}
	m.Log.mute()
	hangUp()
	if m.halt.finish(how) {
		_ = m.client.Close() // or it would go on dialing for a while
		m.close()
	}
}

// Drain stops the node gracefully. It returns early when the node dies.
func (m *Member) Drain() error {
	ctx, cancel := context.WithTimeout(context.Background(), 25*time.Second)
	defer cancel()
	err := m.Node.Drain(ctx, 20*time.Second)
	if m.halt.finish(drained) {
		m.close()
	}
	return err
}

func (m *Member) close() {
	defer close(m.closed)
	m.Close()
	_ = m.client.Close()
	m.log.Close()
}

// Freeze stops the node between two steps, as SIGSTOP does: none of its actors
// handles a message, and nothing passes its connections, which stay open. What it
// sent before takes effect, and answers wait for it. A poll in flight goes on at
// the target, which does not see it canceled before Thaw.
func (m *Member) Freeze() {
	m.halt.set(true)
	m.Link.Suspend()
}

// Thaw ends Freeze. Everything goes on where it stood, in any order; a command that
// was about to be sent is sent.
func (m *Member) Thaw() {
	m.Link.Resume()
	m.halt.set(false)
}

// Died is when the node was killed or vanished; zero if it was not.
func (m *Member) Died() time.Time { return m.halt.diedAt() }

// JumpWall sets the node's wall clock forward, or back where d is negative. Its
// monotonic clock goes on.
func (m *Member) JumpWall(d time.Duration) { m.ahead.Add(int64(d)) }

func (m *Member) onWall(t time.Time) time.Time { return t.Add(time.Duration(m.ahead.Load())) }
