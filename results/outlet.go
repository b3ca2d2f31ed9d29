package results

import (
	"context"
	"errors"
	"hash/fnv"
	"sync"
	"sync/atomic"
	"time"

	"leasehold/eventlog"
)

const (
	// queueSize is how many events wait for one sink, in all its lanes.
	queueSize = 1024
	// dropPause is the least time between two lines about drops of one sink.
	dropPause = 10 * time.Second
)

var (
	errFull   = errors.New("the queue is full")
	errClosed = errors.New("the node stops")
)

// outlet is a sink and what waits for it.
type outlet struct {
	ctx   context.Context //nolint:containedctx // deliveries belong to the hub's life, not to a caller's
	sink  Sink
	log   *eventlog.Log
	lanes []*lane

	delivered, dropped atomic.Uint64

	mu     sync.Mutex
	told   time.Time   // when drops were last logged
	untold int         // drops since
	why    error       // the latest reason for those
	later  *time.Timer // logs them; nil while there are none
	closed bool
}

func newOutlet(ctx context.Context, log *eventlog.Log, sink Sink) *outlet {
	o := &outlet{ctx: ctx, sink: sink, log: log}
	n := max(1, sink.Lanes())
	for range n {
		o.lanes = append(o.lanes, &lane{size: queueSize / n, deliver: o.deliver})
	}
	return o
}

// put queues the event in its session's lane.
func (o *outlet) put(m Message) {
	h := fnv.New32a()
	_, _ = h.Write([]byte(m.Session))                                 // never fails, says hash.Hash
	if full := o.lanes[h.Sum32()%uint32(len(o.lanes))].put(m); full { //nolint:gosec // there are few lanes
		o.drop(1, errFull)
	}
}

func (o *outlet) deliver(m Message) {
	if err := o.sink.Deliver(o.ctx, m); err != nil {
		o.drop(1, err)
		return
	}
	o.delivered.Add(1)
}

// drop counts lost events and logs them, the first at once and the others together.
func (o *outlet) drop(n int, err error) {
	o.dropped.Add(uint64(n)) //nolint:gosec // a length
	o.mu.Lock()
	defer o.mu.Unlock()
	o.untold, o.why = o.untold+n, err
	rest := time.Until(o.told.Add(dropPause))
	switch {
	case o.closed: // the log may be closed too
	case rest <= 0:
		o.tell()
	case o.later == nil: // for these may be the last
		o.later = time.AfterFunc(rest, o.tellLate)
	}
}

// tell logs the drops that were not told of yet. It is called with mu.
func (o *outlet) tell() {
	if o.later != nil {
		o.later.Stop()
		o.later = nil
	}
	if o.untold == 0 {
		return
	}
	o.log.Emit(eventlog.ResultDropped{Sink: o.sink.Name(), Count: o.untold, Err: o.why})
	o.told, o.untold = time.Now(), 0
}

// tellLate is what the timer does, unless a drop that came just then was quicker.
func (o *outlet) tellLate() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.closed && time.Since(o.told) >= dropPause {
		o.tell()
	}
}

// flush waits until the queues are empty, or ctx ends.
func (o *outlet) flush(ctx context.Context) {
	for _, l := range o.lanes {
		l.flush(ctx)
	}
}

// abandon drops what is still queued, and tells of drops that were not told yet. There
// are no lines after that.
func (o *outlet) abandon() {
	left := 0
	for _, l := range o.lanes {
		left += l.clear()
	}
	o.dropped.Add(uint64(left))
	o.mu.Lock()
	defer o.mu.Unlock()
	if left > 0 {
		o.untold, o.why = o.untold+left, errClosed
	}
	o.closed = true
	o.tell()
}

func (o *outlet) stats() SinkStats {
	s := SinkStats{Name: o.sink.Name(), Delivered: o.delivered.Load(), Dropped: o.dropped.Load()}
	for _, l := range o.lanes {
		s.Queued += l.length()
	}
	return s
}

// lane delivers events one after the other, from a goroutine that lives only while
// there are some.
type lane struct {
	size    int
	deliver func(Message)

	mu    sync.Mutex
	queue []Message
	idle  chan struct{} // not nil while the goroutine lives; closed at its end
}

// put queues the event. It reports whether the oldest had to go for it: what is newer
// says more.
func (l *lane) put(m Message) (full bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if full = len(l.queue) >= l.size; full {
		l.queue = l.queue[1:]
	}
	l.queue = append(l.queue, m)
	if l.idle == nil {
		l.idle = make(chan struct{})
		go l.run()
	}
	return full
}

func (l *lane) run() {
	for {
		l.mu.Lock()
		if len(l.queue) == 0 {
			close(l.idle)
			l.idle, l.queue = nil, nil
			l.mu.Unlock()
			return
		}
		m := l.queue[0]
		l.queue = l.queue[1:]
		l.mu.Unlock()
		l.deliver(m)
	}
}

func (l *lane) flush(ctx context.Context) {
	l.mu.Lock()
	idle := l.idle
	l.mu.Unlock()
	if idle == nil {
		return
	}
	select {
	case <-idle:
	case <-ctx.Done():
	}
}

// clear empties the queue and returns how many there were.
func (l *lane) clear() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := len(l.queue)
	l.queue = nil
	return n
}

func (l *lane) length() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.queue)
}
