package results

import (
	"context"
	"sync"
	"sync/atomic"

	"leasehold/eventlog"
)

// Sink delivers events to somewhere else. Its methods may be called from any goroutine.
type Sink interface {
	// Name is for logs and counts.
	Name() string
	// Lanes is how many deliveries may be under way at once. The results of one
	// session share a lane.
	Lanes() int
	// Deliver hands one event on, and tries again as it sees fit, until ctx ends. Its
	// error says that the event is lost; it holds no secret.
	Deliver(ctx context.Context, m Message) error
}

// Hub passes results on to the sinks and counts them. Its methods may be called from
// any goroutine and, but for Close, never wait; those of a nil Hub do nothing.
type Hub struct {
	cancel  context.CancelFunc
	outlets []*outlet

	recorded, fenced atomic.Uint64
	close            sync.Once
}

// Stats are counts since the start.
type Stats struct {
	Recorded uint64 // results that Redis took
	Fenced   uint64 // results of an old lease, refused
	Sinks    []SinkStats
}

// SinkStats are the counts of one sink.
type SinkStats struct {
	Name               string
	Delivered, Dropped uint64
	Queued             int // now
}

// NewHub returns a hub in front of the sinks. It has no goroutine while nothing is
// queued. Deliveries end with ctx.
func NewHub(ctx context.Context, log *eventlog.Log, sinks ...Sink) *Hub {
	ctx, cancel := context.WithCancel(ctx)
	h := &Hub{cancel: cancel}
	for _, s := range sinks {
		h.outlets = append(h.outlets, newOutlet(ctx, log, s))
	}
	return h
}

// Recorded passes on a result that Redis took.
func (h *Hub) Recorded(m Message) {
	if h == nil {
		return
	}
	h.recorded.Add(1)
	for _, o := range h.outlets {
		o.put(m)
	}
}

// Fenced counts a result that was refused.
func (h *Hub) Fenced() {
	if h != nil {
		h.fenced.Add(1)
	}
}

// Stats returns the counts.
func (h *Hub) Stats() Stats {
	if h == nil {
		return Stats{}
	}
	s := Stats{Recorded: h.recorded.Load(), Fenced: h.fenced.Load()}
	for _, o := range h.outlets {
		s.Sinks = append(s.Sinks, o.stats())
	}
	return s
}

// Close waits until the queues are empty, but no longer than ctx; what is left then is
// dropped. Only the first call does so.
func (h *Hub) Close(ctx context.Context) {
	if h != nil {
		h.close.Do(func() { h.end(ctx) })
	}
}

func (h *Hub) end(ctx context.Context) {
	for _, o := range h.outlets {
		o.flush(ctx)
	}
	h.cancel()
	for _, o := range h.outlets {
		o.abandon()
	}
}
