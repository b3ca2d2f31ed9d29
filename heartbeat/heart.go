package heartbeat

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"leasehold/eventlog"
	"leasehold/lease"
)

// leaveTries is how often the removal of a heartbeat is tried. Its TTL does it then.
const leaveTries = 4

// Config is what a heart needs.
type Config struct {
	Members  lease.Members
	Instance string
	// TTL is the key's, Interval the time between two beats, Margin how long before
	// the TTL's end the node counts itself as fenced.
	TTL, Interval, Margin time.Duration
	// Fenced hears of each change, from any goroutine; it must not block.
	Fenced func(fenced bool)
	Log    *eventlog.Log
}

// Heart beats. Its methods may be called from any goroutine.
type Heart struct {
	cfg  Config
	wake chan struct{} // a beat was done elsewhere: the next is due later

	// beating holds a token while a beat is on its way. It is no mutex: waiting for
	// one that is held over I/O would stop the clock of a test in virtual time.
	beating chan struct{}

	mu       sync.Mutex
	sent     time.Time // of the last accepted beat
	failures int       // beats in a row that failed
	failing  time.Time // since when
	fenced   bool
	left     bool
}

// New returns a heart that does not beat yet.
func New(cfg Config) *Heart {
	return &Heart{cfg: cfg, wake: make(chan struct{}, 1), beating: make(chan struct{}, 1)}
}

// Run beats until ctx ends or the heart has left.
func (h *Heart) Run(ctx context.Context) {
	for !h.hasLeft() {
		timer := time.NewTimer(h.wait(time.Now()))
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-h.wake:
			timer.Stop()
		case <-timer.C:
			h.checkTrust(time.Now())
			if h.due(time.Now()) {
				h.beatOnTime(ctx)
			}
		}
	}
}

// beatOnTime beats, but not beyond the end of trust: a beat that hangs must not
// keep the node from being fenced.
func (h *Heart) beatOnTime(ctx context.Context) {
	h.mu.Lock()
	end, trusted := h.trustedUntil(), !h.fenced && !h.sent.IsZero()
	h.mu.Unlock()
	if trusted {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, end)
		defer cancel()
	}
	select {
	case h.beating <- struct{}{}:
	case <-ctx.Done():
		return
	}
	_ = h.beat(ctx) // counted and logged there
	<-h.beating
}

func (h *Heart) hasLeft() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.left
}

// Beat writes the heartbeat now, unless it was written within half an interval.
// Renewals call it first, so that a dead node's heartbeat runs out before its
// leases.
func (h *Heart) Beat(ctx context.Context) error {
	h.mu.Lock()
	fresh := time.Since(h.sent) < h.cfg.Interval/2
	h.mu.Unlock()
	if fresh {
		return nil
	}
	select {
	case h.beating <- struct{}{}:
	default:
		return nil // one is on its way, and leases don't wait for it
	}
	err := h.beat(ctx)
	<-h.beating
	select {
	case h.wake <- struct{}{}:
	default:
	}
	return err
}

// Leave removes the heartbeat for good: the others see this node go. A beat on its way
// would write the key again, so it is waited for as long as ctx allows. What fails is tried
// again, as a connection that broke meanwhile shows only by this.
func (h *Heart) Leave(ctx context.Context) error {
	h.mu.Lock()
	h.left = true
	h.mu.Unlock()
	select {
	case h.beating <- struct{}{}:
	case <-ctx.Done():
		return fmt.Errorf("remove the heartbeat: one is still being written: %w", ctx.Err())
	}
	defer func() { <-h.beating }()
	for failures := 0; ; failures++ {
		err := h.cfg.Members.Leave(ctx, h.cfg.Instance)
		if err == nil || failures+1 == leaveTries {
			return err
		}
		select {
		case <-time.After(lease.Retry(h.cfg.TTL, failures)):
		case <-ctx.Done():
			return err
		}
	}
}

// Fresh reports whether the last accepted beat can be trusted.
func (h *Heart) Fresh() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return !h.sent.IsZero() && time.Now().Before(h.trustedUntil())
}

// beat writes the key. The caller holds beating.
func (h *Heart) beat(ctx context.Context) error {
	if h.hasLeft() {
		return nil
	}
	sent := time.Now()
	err := h.cfg.Members.Beat(ctx, h.cfg.Instance, h.cfg.TTL)
	if err != nil && errors.Is(ctx.Err(), context.Canceled) {
		return err // the process ends, which says nothing of Redis
	}
	h.note(err, sent, time.Now())
	return err
}

// note books a beat's answer.
func (h *Heart) note(err error, sent, now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err != nil {
		if h.failures == 0 {
			h.failing = now
			h.cfg.Log.Emit(eventlog.RedisDown{Err: err})
		}
		h.failures++
		if h.sent.IsZero() && !h.fenced { // nobody knows of this node yet
			h.fence("no heartbeat was accepted yet")
		}
		return
	}
	h.sent = sent
	if h.failures > 0 {
		h.cfg.Log.Emit(eventlog.RedisUp{})
		h.failures = 0
	}
	if h.fenced {
		h.fenced = false
		h.cfg.Log.Emit(eventlog.NodeUnfenced{Duration: now.Sub(h.failing)})
		h.cfg.Fenced(false)
	}
}

// checkTrust fences the node when its trust has run out.
func (h *Heart) checkTrust(now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.fenced || h.sent.IsZero() || h.left || now.Before(h.trustedUntil()) {
		return
	}
	if h.failures == 0 { // the process stood still
		h.failing = h.trustedUntil()
	}
	h.fence("the heartbeat was not accepted in time")
}

// fence needs the lock.
func (h *Heart) fence(reason string) {
	h.fenced = true
	h.cfg.Log.Emit(eventlog.NodeFenced{Reason: reason})
	h.cfg.Fenced(true)
}

func (h *Heart) trustedUntil() time.Time { return h.sent.Add(h.cfg.TTL - h.cfg.Margin) }

// nextBeat is when the next beat is due.
func (h *Heart) nextBeat(now time.Time) time.Time {
	switch {
	case h.failures > 0:
		return now.Add(lease.Retry(h.cfg.TTL, h.failures-1))
	case h.sent.IsZero():
		return now
	default:
		return h.sent.Add(h.cfg.Interval)
	}
}

// wait is how long the heart can rest: until the next beat, or the end of trust.
func (h *Heart) wait(now time.Time) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	at := h.nextBeat(now)
	if end := h.trustedUntil(); !h.fenced && !h.sent.IsZero() && end.Before(at) {
		at = end
	}
	return max(0, at.Sub(now))
}

func (h *Heart) due(now time.Time) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.failures > 0 || !now.Before(h.nextBeat(now))
}
