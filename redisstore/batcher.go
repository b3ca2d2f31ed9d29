package redisstore

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// batcher sends the calls of concurrent polls together: what came while a flight
// was out goes with the next one, so that nobody waits for a timer and load makes
// the flights larger, not more. All calls are to one server: who waits for a flight waits
// for nobody else's.
//
// It is used instead of go-redis' AutoPipeline because that waits for a batch
// whatever the caller's context says, runs batches on a context of its own, keeps
// goroutines until it is closed, and has no place to load a missing script and
// repeat only the calls that missed it. This one has no goroutine while idle, so
// it needs no Close.
type batcher struct {
	exec    func(context.Context, []*call)
	timeout time.Duration
	size    int

	mu    sync.Mutex
	queue []*ride
	out   bool // a flight is
}

// ride is one call on its way. Who sets taken owns the call: the flight, or the
// caller that gave up waiting.
type ride struct {
	ctx   context.Context //nolint:containedctx // the flight that takes the ride on needs its values
	call  *call
	taken bool
	done  chan struct{}
}

func newBatcher(exec func(context.Context, []*call), timeout time.Duration, size int) *batcher {
	return &batcher{exec: exec, timeout: timeout, size: size}
}

// do runs the call with others and returns when it is answered, or with an error
// as soon as ctx has ended or the timeout is over.
func (b *batcher) do(ctx context.Context, c *call) error {
	ctx, cancel := context.WithTimeout(ctx, b.timeout)
	defer cancel()
	r := &ride{ctx: ctx, call: c, done: make(chan struct{})}
	b.mu.Lock()
	b.queue = append(b.queue, r)
	if !b.out {
		b.out = true
		go b.fly()
	}
	b.mu.Unlock()
	select {
	case <-r.done:
		return c.err
	case <-ctx.Done():
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	sent := r.taken
	r.taken = true
	if sent {
		return fmt.Errorf("no answer yet: %w", context.Cause(ctx))
	}

	return fmt.Errorf("not sent yet: %w", context.Cause(ctx))
}

// fly sends what is queued until nothing is.
func (b *batcher) fly() {
	for {
		rides := b.board()
		if len(rides) == 0 {
			return
		}
		calls := make([]*call, len(rides))
		for i, r := range rides {
			calls[i] = r.call
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(rides[0].ctx), b.timeout)
		b.exec(ctx, calls)
		cancel()
		for _, r := range rides {
			close(r.done)
		}
	}
}

// board takes the next rides from the queue, without those whose callers left.
func (b *batcher) board() []*ride {
	b.mu.Lock()
	defer b.mu.Unlock()
	var rides []*ride
	for len(b.queue) > 0 && len(rides) < b.size {
		r := b.queue[0]
		b.queue[0] = nil
		b.queue = b.queue[1:]
		if !r.taken && r.ctx.Err() == nil {
			r.taken = true
			rides = append(rides, r)
		}
	}
	if len(rides) == 0 {
		b.queue = nil
		b.out = false
	}

	return rides
}
