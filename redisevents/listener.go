package redisevents

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"
)

// Listener turns keyspace notifications into a queue of events.
type Listener struct {
	cfg   Config
	queue *queue

	mu         sync.Mutex
	conditions map[*watch]condition
	begun      bool // some watch was subscribed, though it may be gone
}

// Status says how far the events can be relied on.
type Status struct {
	// Healthy says that every server has confirmed all channels, has all flags, and
	// is no replica. Otherwise only the scan finds what happens.
	Healthy bool
	// Servers is how many are listened to: one, or the masters of a cluster.
	Servers int
	// Starting is how many of them were never subscribed to so far.
	Starting int
	// Flags are those of a server, where it tells.
	Flags string
	// Problem says what is wrong; empty when nothing is.
	Problem string
	// Queued is the number of events waiting for Take.
	Queued int
}

// New returns a listener that does nothing before Run.
func New(cfg Config) *Listener {
	cfg = cfg.withDefaults()
	return &Listener{
		cfg:        cfg,
		queue:      newQueue(cfg.MaxQueue, cfg.Notify),
		conditions: map[*watch]condition{},
	}
}

// Run listens until the context ends, and then returns nil. It returns an error
// when the client is of an unknown type, and in mode Require when flags or channels
// are refused before the first subscription, in a cluster by a master that was there
// at the start. Call it once.
func (l *Listener) Run(ctx context.Context) error {
	if l.cfg.Mode == Off {
		l.queue.addGap(Gap{Reason: reasonOff})
	}
	switch client := l.cfg.Client.(type) {
	case *redis.Client:
		return l.newWatch(client.Options(), false).keep(ctx)
	case *redis.ClusterClient:
		return l.runCluster(ctx, client)
	default:
		return fmt.Errorf("no keyspace events through a %T", client)
	}
}

// newWatch makes the watch of one server, which counts from now on.
func (l *Listener) newWatch(o *redis.Options, joined bool) *watch {
	w := &watch{
		cfg: &l.cfg, queue: l.queue, options: o, joined: joined, late: joined && l.hasBegun(),
		parser: parser{keys: l.cfg.Keys, db: l.cfg.DB, takings: l.cfg.Takings},
	}
	w.turns = newTurns(l.cfg.Name)
	w.report = func(c condition) { l.setCondition(w, c) }
	w.drop = func() { l.dropCondition(w) }
	w.why = ReasonStart
	w.report(condition{problem: w.why})
	return w
}

// Take empties the queue. A Gap comes first; it covers what was dropped for it.
// Any goroutine may call it.
func (l *Listener) Take() []Event { return l.queue.take() }

// Healthy is Status().Healthy.
func (l *Listener) Healthy() bool { return l.Status().Healthy }

// Status may be called from any goroutine.
func (l *Listener) Status() Status {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := Status{Healthy: len(l.conditions) > 0, Servers: len(l.conditions), Queued: l.queue.size()}
	problems := map[string]struct{}{}
	for _, c := range l.conditions {
		s.Healthy = s.Healthy && c.healthy
		if !c.begun {
			s.Starting++
		}
		s.Flags = c.flags
		if c.problem != "" {
			problems[c.problem] = struct{}{}
		}
	}
	s.Problem = strings.Join(slices.Sorted(maps.Keys(problems)), "; ")
	return s
}

func (l *Listener) setCondition(w *watch, c condition) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.conditions[w] = c
	l.begun = l.begun || c.begun
}

func (l *Listener) hasBegun() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.begun
}

func (l *Listener) dropCondition(w *watch) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.conditions, w)
}
