package tracing

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"leasehold/eventlog"
)

// dropPause is the least time between two lines about spans that were lost.
const dropPause = time.Minute

var errFull = errors.New("the queue is full")

// Stats are counts since the start.
type Stats struct {
	// Sent were taken by the collector.
	Sent uint64
	// Full found no room in the queue, Failed did not reach the collector, or were
	// rejected by it.
	Full, Failed uint64
	// Queued wait now, or are being sent.
	Queued int
}

// queue counts the spans on their way through the SDK's batches. The SDK drops what
// finds its queue full without a word; so no more get there than it has room for.
type queue struct {
	sdktrace.SpanProcessor // the SDK's

	room   int64
	closed atomic.Bool

	waiting            atomic.Int64
	sent, full, failed atomic.Uint64
}

// OnEnd queues a span that has ended, if there is room. It never waits.
func (q *queue) OnEnd(s sdktrace.ReadOnlySpan) {
	if !s.SpanContext().IsSampled() {
		return
	}
	if q.waiting.Add(1) > q.room || q.closed.Load() {
		q.waiting.Add(-1)
		q.full.Add(1)
		return
	}
	q.SpanProcessor.OnEnd(s)
}

func (q *queue) stats() Stats {
	return Stats{Sent: q.sent.Load(), Full: q.full.Load(), Failed: q.failed.Load(), Queued: int(q.waiting.Load())}
}

// outlet passes batches on to the collector, counts what became of them, and keeps
// errors from the SDK, which would print them. Its calls follow one another.
type outlet struct {
	sdktrace.SpanExporter

	queue *queue
	log   *eventlog.Log

	told  time.Time // when losses were last logged
	known uint64    // losses by then
}

// ExportSpans implements [sdktrace.SpanExporter]. It returns no error.
func (o *outlet) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	all := uint64(len(spans))
	err := o.SpanExporter.ExportSpans(ctx, spans)
	lost := uint64(0)
	if n, ok := errors.AsType[rejected](err); ok {
		lost = min(uint64(n), all)
	} else if err != nil {
		lost = all
	}
	o.queue.sent.Add(all - lost)
	o.queue.failed.Add(lost)
	o.queue.waiting.Add(-int64(len(spans)))
	o.tell(err)
	return nil
}

// tell logs losses, the first at once and the others together.
func (o *outlet) tell(err error) {
	lost := o.queue.failed.Load() + o.queue.full.Load()
	now := time.Now()
	last := o.queue.closed.Load()
	if lost == o.known || !o.told.IsZero() && now.Sub(o.told) < dropPause && !last {
		return
	}
	if err == nil {
		err = errFull
	}
	o.log.Emit(eventlog.TracesDropped{Count: int(lost - o.known), Err: err}) //nolint:gosec // spans of one process
	o.told, o.known = now, lost
}
