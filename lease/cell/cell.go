package cell

import (
	"context"
	"errors"
	"sync"
	"time"

	"leasehold/lease"
)

// ErrExpired is the cause of a cell's end when its trusted deadline passed.
var ErrExpired = errors.New("the lease was not renewed in time")

// Cell is the shared state of one grant. All methods may be called from any
// goroutine.
type Cell struct {
	// Set once.
	grant  lease.Grant
	ctx    context.Context
	cancel context.CancelCauseFunc
	wall   func(time.Time) time.Time

	mu        sync.Mutex
	until     time.Time // on the monotonic clock
	wallUntil time.Time // on the wall clock
	renewed   time.Time // when the last accepted acquire or renewal was heard of
	suspended bool
	ended     time.Time // zero while the cell lives, or when its parent has ended
	timer     *time.Timer
}

// New returns the cell of a term, alive until the term's deadline. Its context
// carries the values of parent and ends with it.
func New(parent context.Context, term lease.Term) *Cell {
	ctx, cancel := context.WithCancelCause(parent)
	c := &Cell{grant: term.Grant, ctx: ctx, cancel: cancel, wall: Wall(parent)}

	c.mu.Lock()
	defer c.mu.Unlock()
	c.set(term.TrustedUntil)
	c.renewed = time.Now()
	c.timer = time.AfterFunc(time.Until(term.TrustedUntil), c.ring)
	return c
}

// Grant returns what the cell is about.
func (c *Cell) Grant() lease.Grant { return c.grant }

// Context ends with the trust in the grant. Its cause is ErrExpired or what Kill
// was given.
func (c *Cell) Context() context.Context { return c.ctx }

// TrustedUntil returns the present deadline.
func (c *Cell) TrustedUntil() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.until
}

// Renewed returns when the last accepted acquire or renewal was heard of.
func (c *Cell) Renewed() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.renewed
}

// Ended returns when the cell ended, as its process noticed; zero while it lives, and
// for one that ended with its parent only.
func (c *Cell) Ended() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ended
}

// trusted returns the deadline, and whether the cell has not ended.
func (c *Cell) trusted() (until time.Time, alive bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.until, c.ctx.Err() == nil
}

// Usable reports whether a new poll may start now. A cell whose deadline passed on the
// wall clock ends by this: should that clock go back, nobody would hear that it is usable
// again.
func (c *Cell) Usable() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	if c.ctx.Err() != nil || !now.Before(c.until) {
		return false
	}
	if c.slept(now) {
		c.end(ErrExpired)
		return false
	}
	return !c.suspended
}

// Extend moves the deadline to until, never back, and ends a suspension. It
// reports false when the cell has ended. One whose deadline passed on the wall
// clock ends by this: its polls may have been refused already.
func (c *Cell) Extend(until time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	if c.ctx.Err() != nil || !now.Before(c.until) {
		return false
	}
	if c.slept(now) {
		c.end(ErrExpired)
		return false
	}
	if until.After(c.until) {
		c.set(until) // the timer finds out when it rings
	}
	c.renewed = now
	c.suspended = false
	return true
}

// Limit moves the deadline back to until if it is later. A renewal that shortens
// the lease's TTL calls it before it is sent: from then on Redis may end the lease
// that early.
func (c *Cell) Limit(until time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ctx.Err() != nil || !until.Before(c.until) {
		return
	}
	c.set(until)
	c.timer.Reset(time.Until(until))
}

// Suspend stops new polls until a renewal succeeds. It reports whether the cell
// was in use before.
func (c *Cell) Suspend() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	was := !c.suspended
	c.suspended = true
	return was
}

// Kill ends the cell at once.
func (c *Cell) Kill(cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.end(cause)
}

// Slept ends the cell if the wall clock is past the deadline although the
// monotonic clock is not: the machine slept, or its clock was set. It reports
// whether that was so.
func (c *Cell) Slept() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ctx.Err() != nil || !c.slept(time.Now()) {
		return false
	}
	c.end(ErrExpired)
	return true
}

// set needs the lock.
func (c *Cell) set(until time.Time) { c.until, c.wallUntil = until, c.wall(until) }

// end needs the lock.
func (c *Cell) end(cause error) {
	c.timer.Stop()
	c.cancel(cause)
	c.noteEnd()
}

// noteEnd needs the lock.
func (c *Cell) noteEnd() {
	if c.ended.IsZero() {
		c.ended = time.Now()
	}
}

func (c *Cell) slept(now time.Time) bool {
	return !c.wall(now).Before(c.wallUntil)
}

// ring is the timer's: it ends the cell, or waits on if the deadline has moved.
func (c *Cell) ring() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ctx.Err() != nil {
		return
	}
	if left := time.Until(c.until); left > 0 {
		c.timer.Reset(left)
		return
	}
	c.cancel(ErrExpired)
	c.noteEnd()
}
