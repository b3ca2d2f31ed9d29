package nodetest

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/onsi/gomega"
	"github.com/redis/go-redis/v9"

	"leasehold/eventlog"
	"leasehold/internal/bubble"
	"leasehold/internal/redistest"
	"leasehold/node"
	"leasehold/redisevents"
	"leasehold/redisevents/emulator"
	"leasehold/rediskey"
	"leasehold/redisstore"
	"leasehold/session"
)

// Fleet is any number of nodes on one in-memory Redis. Use it in a bubble, on the
// spec's goroutine, and Stop it at the end.
type Fleet struct {
	G      gomega.Gomega
	Mini   *redistest.Mini
	Events *emulator.Emulator
	Target *Target
	Client *redis.Client // a link that never fails

	members []*Member
	started int
}

// New returns a fleet without nodes.
func New(g gomega.Gomega) *Fleet {
	m := redistest.NewMini()
	e, err := emulator.Start(m.Miniredis, emulator.Options{})
	g.Expect(err).NotTo(gomega.HaveOccurred())
	return &Fleet{G: g, Mini: m, Events: e, Target: NewTarget(), Client: m.Client()}
}

// Stop ends all nodes and the Redis.
func (f *Fleet) Stop() {
	for _, m := range f.members {
		m.Kill()
	}
	_ = f.Client.Close()
	f.Events.Close()
	f.Mini.Close()
	bubble.Settle()
}

// Members returns all nodes that were ever started.
func (f *Fleet) Members() []*Member { return f.members }

// Put stores a session document.
func (f *Fleet) Put(id, doc string) {
	f.G.Expect(f.Client.Set(context.Background(), "session:"+id, doc, 0).Err()).To(gomega.Succeed())
}

// PutMany stores n sessions, s0 and so on, of one interval.
func (f *Fleet) PutMany(n int, interval time.Duration) {
	for i := range n {
		f.Put(fmt.Sprintf("s%d", i), fmt.Sprintf(`{"url":"http://192.0.2.1/","interval":%q}`, interval))
	}
}

// Remove deletes a session document.
func (f *Fleet) Remove(id string) {
	f.G.Expect(f.Client.Del(context.Background(), "session:"+id).Err()).To(gomega.Succeed())
}

// Owners returns the holder of each lease.
func (f *Fleet) Owners() map[string]string {
	ctx := context.Background()
	owners := map[string]string{}
	keys, err := f.Client.Keys(ctx, "poll:lease:*").Result()
	f.G.Expect(err).NotTo(gomega.HaveOccurred())
	for _, key := range keys {
		if holder, err := f.Client.Get(ctx, key).Result(); err == nil {
			owners[strings.TrimPrefix(key, "poll:lease:")] = holder
		}
	}
	return owners
}

// Loads returns how many leases each instance holds.
func (f *Fleet) Loads() map[string]int {
	loads := map[string]int{}
	for _, holder := range f.Owners() {
		loads[holder]++
	}
	return loads
}

// Tokens returns the fencing token of each leased session.
func (f *Fleet) Tokens() map[string]string {
	tokens := map[string]string{}
	for id := range f.Owners() {
		tokens[id] = f.Mini.HGet(rediskey.Default().State(id), "version")
	}
	return tokens
}

// Member is one node of a fleet.
type Member struct {
	*node.Node

	Name string // the instance ID
	Link *redistest.Link
	Log  *Lines

	client *redis.Client
	log    *eventlog.Log
	dead   bool
}

// Start adds a node with the default timings, changed as wanted.
func (f *Fleet) Start(change ...func(*node.Config)) *Member {
	f.started++
	link := f.Mini.Link()
	m := &Member{
		Name: fmt.Sprintf("node%d-%d-%08x", f.started, time.Now().UnixNano(), f.started),
		Link: link, Log: &Lines{}, client: link.Client(),
	}
	m.log = eventlog.New(m.Log, eventlog.Options{Level: eventlog.Debug, InstanceID: m.Name})
	cfg := node.Config{
		Instance: m.Name, Client: m.client, Keys: rediskey.Default(),
		Events:   redisevents.Auto,
		Store:    redisstore.Options{Stream: "poll:results", Timeout: 2 * time.Second},
		LeaseTTL: 30 * time.Second, RenewInterval: 10 * time.Second, Margin: 2 * time.Second,
		HeartbeatTTL: 30 * time.Second, HeartbeatInterval: 10 * time.Second,
		ReconcileInterval: 10 * time.Second, Concurrency: 256,
		Defaults: session.Defaults{Interval: 10 * time.Second, Timeout: 5 * time.Second},
		Poll:     f.Target.Poll,
		Log:      m.log,
	}
	for _, c := range change {
		c(&cfg)
	}
	n, err := node.Start(context.Background(), cfg)
	f.G.Expect(err).NotTo(gomega.HaveOccurred())
	m.Node = n
	f.members = append(f.members, m)
	return m
}

// Kill ends the node as a crash does: its connections break and nothing is given
// back.
func (m *Member) Kill() {
	if m.dead {
		return
	}
	m.dead = true
	m.Link.Cut()
	m.Close()
	_ = m.client.Close()
	m.log.Close()
}

// Drain stops the node gracefully.
func (m *Member) Drain() error {
	ctx, cancel := context.WithTimeout(context.Background(), 25*time.Second)
	defer cancel()
	err := m.Node.Drain(ctx, 20*time.Second)
	m.dead = true
	m.Close()
	_ = m.client.Close()
	m.log.Close()
	return err
}

// Lines is a log that a spec can read.
type Lines struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

// Write implements io.Writer.
func (l *Lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

// Events returns the lines of one event.
func (l *Lines) Events(name string) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var lines []string
	for line := range strings.Lines(l.buf.String()) {
		if strings.Contains(line, `"event":"`+name+`"`) {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}

// String returns the whole log.
func (l *Lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}
