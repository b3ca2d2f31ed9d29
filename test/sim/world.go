package sim

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/onsi/gomega"

	"leasehold/eventlog"
	"leasehold/internal/nodetest"
	"leasehold/node"
)

// world is one simulated fleet and what was done to it. All of it belongs to the
// goroutine that runs the scenario.
type world struct {
	g        gomega.Gomega
	scenario Scenario
	fleet    *nodetest.Fleet
	start    time.Time

	nodes   []*nodetest.Member // started, and neither killed nor asked to drain
	drains  []*drain
	lessees []*lessee // ever hired
	people  sync.WaitGroup
	docs    []*document // those that exist, in the order of their making
	made    int         // documents ever made

	applied []applied // the faults that hit something, in order
	counts  map[string]int
	back    int // how the server that took another's place last came back

	refusing atomic.Pointer[refusal] // what the server refuses now
	wrote    bool                    // the script that runs; the server's alone
	// refused hears of each command of a node that is refused.
	refused func(cmd string)
}

// reachable reports whether no fault since a moment may have kept nodes from Redis, or
// taken back what they wrote.
func (w *world) reachable(since time.Time) bool {
	return !slices.ContainsFunc(w.applied, func(a applied) bool {
		goes := a.Ended.IsZero() || !a.Ended.Before(since)
		return goes && slices.ContainsFunc(
			[]string{"link", "redis", "errors", "replies", "connections", "freeze", "restart", "failover"},
			func(kind string) bool { return strings.HasPrefix(a.Kind, kind) },
		)
	})
}

// applied is a fault that hit something.
type applied struct {
	Fault

	Hit   string // an instance, a session, a key
	Begun time.Time
	Ended time.Time // zero while it goes on
}

// drain is a node that was asked to stop.
type drain struct {
	*nodetest.Member

	Asked  time.Time
	Done   chan struct{} // closed when it has stopped
	judged bool
}

// newWorld starts the fleet.
func newWorld(g gomega.Gomega, s Scenario, level eventlog.Level) *world {
	t := s.Timings
	w := &world{
		g: g, scenario: s, start: time.Now(), counts: map[string]int{},
		fleet: nodetest.New(g, func(o *nodetest.Options) {
			o.Sweep, o.LogLevel = t.Sweep.D(), level
		}),
	}
	w.fleet.Hook(w.refuses) // before the judge's: it sees what is carried out
	return w
}

// populate starts the fleet.
func (w *world) populate() {
	s := w.scenario
	for range s.Sessions {
		w.addDocument()
	}
	for range s.Nodes {
		w.join()
	}
}

// now is the time since the start.
func (w *world) now() Span { return Span(time.Since(w.start)) }

// config sets a node's timings.
func (w *world) config(c *node.Config) {
	t := w.scenario.Timings
	c.LeaseTTL, c.RenewInterval, c.Margin = t.LeaseTTL.D(), t.RenewInterval.D(), t.Margin.D()
	c.HeartbeatTTL, c.HeartbeatInterval = t.HeartbeatTTL.D(), t.HeartbeatInterval.D()
	c.ReconcileInterval = t.Reconcile.D()
	c.Store.Timeout = t.Timeout.D()
	c.Listen.Canary, c.Listen.Dead = t.Canary.D(), 3*t.Canary.D()
	c.Listen.Identify, c.Listen.FlagCheck = 2*t.Canary.D(), 20*t.Canary.D()
}

func (w *world) join() *nodetest.Member {
	m := w.fleet.Start(w.config)
	w.usualPace(m)
	w.nodes = append(w.nodes, m)
	return m
}

// node returns the one that a fault hits, nil if there is none.
func (w *world) node(f Fault) *nodetest.Member {
	if len(w.nodes) == 0 {
		return nil
	}
	return w.nodes[int(f.Which%uint32(len(w.nodes)))]
}

// leave takes a node off the list of those that live.
func (w *world) leave(m *nodetest.Member) {
	for i, n := range w.nodes {
		if n == m {
			w.nodes = append(w.nodes[:i:i], w.nodes[i+1:]...)
		}
	}
}

// few says that no node may go for good.
func (w *world) few() bool { return len(w.nodes) <= min(3, w.scenario.Nodes) }

func (w *world) addDocument() *document {
	d := w.scenario.newDocument(w.made)
	w.made++
	w.docs = append(w.docs, &d)
	w.fleet.Target.Set(d.ID, d.Usual)
	w.put(&d)
	return &d
}

func (w *world) put(d *document) {
	d.changed = time.Now()
	w.fleet.Put(d.ID, d.text())
}

// document returns the one that a fault hits, nil if there is none.
func (w *world) document(f Fault) *document {
	if len(w.docs) == 0 {
		return nil
	}
	return w.docs[int(f.Which%uint32(len(w.docs)))]
}

func (w *world) removeDocument(d *document) {
	for i, other := range w.docs {
		if other == d {
			w.docs = append(w.docs[:i:i], w.docs[i+1:]...)
		}
	}
	w.fleet.Remove(d.ID)
}

// restore makes the documents in Redis those that there should be, as their owner
// would after Redis lost some.
func (w *world) restore() {
	want := map[string]*document{}
	for _, d := range w.docs {
		want["session:"+d.ID] = d
		if text, err := w.fleet.Mini.Get("session:" + d.ID); err != nil || text != d.text() {
			w.put(d)
		}
	}
	for _, key := range w.keys("session:") {
		if want[key] == nil {
			w.client().Del(context.Background(), key)
		}
	}
}

// history lists the faults up to now.
func (w *world) history() []string {
	lines := make([]string, 0, len(w.applied))
	for _, a := range w.applied {
		line := fmt.Sprintf("%s %s", a.Fault, a.Hit)
		if !a.Ended.IsZero() {
			line += fmt.Sprintf(" (ended %s)", Span(a.Ended.Sub(w.start)).round())
		}
		lines = append(lines, line)
	}
	return lines
}
