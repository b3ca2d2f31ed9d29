package nodetest

import (
	"context"
	"errors"
	"sync"
	"time"
)

// ErrDied is the cause of the end of polls whose process has died.
var ErrDied = errors.New("the process that polled has died")

// end is how a process ended.
type end int

const (
	alive end = iota
	drained
	killed
	vanished
)

// halt lets the goroutines of one simulated process stand still, or die.
type halt struct {
	mu     sync.Mutex
	change *sync.Cond
	frozen bool
	end    end
	died   time.Time
	gone   chan struct{} // closed when the process has died
}

func newHalt() *halt {
	h := &halt{gone: make(chan struct{})}
	h.change = sync.NewCond(&h.mu)
	return h
}

// wait returns when the process does not stand still.
func (h *halt) wait() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for h.frozen {
		h.change.Wait()
	}
}

// acts waits, and reports whether the process can do anything now.
func (h *halt) acts() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for h.frozen {
		h.change.Wait()
	}
	return h.end == alive || h.end == drained
}

func (h *halt) set(frozen bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.frozen = frozen && h.end == alive
	h.change.Broadcast()
}

// finish ends the process and reports whether it lived.
func (h *halt) finish(how end) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.end != alive {
		return false
	}
	h.end, h.frozen = how, false
	if how != drained {
		h.died = time.Now()
		close(h.gone)
	}
	h.change.Broadcast()
	return true
}

// over reports whether the process has ended.
func (h *halt) over() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.end != alive
}

// diedAt is zero while it lives, and when it stopped by itself.
func (h *halt) diedAt() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.died
}

// view is ctx as the other end of the process' connections sees it: it ends with
// ctx while the process runs, at the thaw while it stands still, and not by itself
// once it is dead.
func (h *halt) view(ctx context.Context) (context.Context, context.CancelCauseFunc) {
	seen, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		if h.acts() {
			cancel(context.Cause(ctx))
		}
	})
	return seen, func(cause error) {
		stop()
		cancel(cause)
	}
}

// killed reports whether the process has ended with its connections.
func (h *halt) killed() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.end == killed
}
