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
	parent context.Context
	wall   func(time.Time) time.Time

	mu        sync.Mutex
	until     time.Time // on the monotonic clock
	wallUntil int64     // on the wall clock, in ns as of Unix
	renewed   time.Time // when the last accepted acquire or renewal was heard of
	suspended bool
	end       *end // nil while the cell lives, or when its parent has ended
	onEnd     func(cause error)
	users     *user // what ends with the cell
	whole     *user // of them, the one of Context; nil before it was asked for
	timer     *time.Timer
}

// end is how a cell ended.
type end struct {
	cause error
	at    time.Time // zero where only the parent has ended
}

// New returns the cell of a term, alive until the term's deadline, or until parent ends.
func New(parent context.Context, term lease.Term) *Cell {
	c := &Cell{grant: term.Grant, parent: parent, wall: Wall(parent)}

	c.mu.Lock()
	defer c.mu.Unlock()
	c.set(term.TrustedUntil)
	c.renewed = time.Now()
	c.timer = time.AfterFunc(time.Until(term.TrustedUntil), c.ring)
	return c
}

// Grant returns what the cell is about.
func (c *Cell) Grant() lease.Grant { return c.grant }

// TrustedUntil returns the present deadline.
func (c *Cell) TrustedUntil() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.until
}

// TrustEnded returns when the trust ended, or will unless it is extended: before
// TrustedUntil where the wall clock passed the deadline first, as the machine slept.
func (c *Cell) TrustEnded() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	over := time.Duration(c.wall(now).UnixNano() - c.wallUntil)
	if end := now.Add(-over); over > 0 && end.Before(c.until) {
		return end
	}
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
	if c.end == nil {
		return time.Time{}
	}
	return c.end.at
}

// Alive reports whether the cell has not ended.
func (c *Cell) Alive() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.alive()
}

// alive needs the lock.
func (c *Cell) alive() bool { return c.end == nil && c.parent.Err() == nil }

// trusted returns the deadline, and whether the cell has not ended.
func (c *Cell) trusted() (until time.Time, alive bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.until, c.alive()
}

// Usable reports whether a new poll may start now.
func (c *Cell) Usable() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.holds(time.Now()) && !c.suspended
}

// Holds reports whether a poll that has started may go on now. It knows before the
// contexts do, which wait for a timer.
func (c *Cell) Holds() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.holds(time.Now())
}

// holds needs the lock. A cell whose deadline passed on the wall clock ends by this: should
// that clock go back, nobody would hear that it is usable again.
func (c *Cell) holds(now time.Time) bool {
	if !c.alive() || !now.Before(c.until) {
		return false
	}
	if c.slept(now) {
		c.finish(ErrExpired, now)
		return false
	}
	return true
}

// Extend moves the deadline to until, never back, and ends a suspension. It
// reports false when the cell has ended. One whose deadline passed on the wall
// clock ends by this: its polls may have been refused already.
func (c *Cell) Extend(until time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	if !c.holds(now) {
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
	if !c.alive() || !until.Before(c.until) {
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
	c.finish(cause, time.Now())
}

// Slept ends the cell if the wall clock is past the deadline although the
// monotonic clock is not: the machine slept, or its clock was set. It reports
// whether that was so.
func (c *Cell) Slept() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	if !c.alive() || !c.slept(now) {
		return false
	}
	c.finish(ErrExpired, now)
	return true
}

// set needs the lock.
func (c *Cell) set(until time.Time) { c.until, c.wallUntil = until, c.wall(until).UnixNano() }

// finish ends the cell, once, and with it all that is done under it. It needs the lock.
func (c *Cell) finish(cause error, at time.Time) {
	c.timer.Stop()
	if c.end != nil {
		return
	}
	if c.parent.Err() != nil { // its cause was the first
		cause = context.Cause(c.parent)
	}
	c.end = &end{cause: cause, at: at}
	for u := c.users; u != nil; u = u.next {
		u.finish(cause)
	}
	c.users = nil
	if c.onEnd != nil {
		go c.onEnd(cause)
		c.onEnd = nil
	}
}

// slept needs the lock.
func (c *Cell) slept(now time.Time) bool {
	return c.wall(now).UnixNano() >= c.wallUntil
}

// ring is the timer's: it ends the cell, or waits on if the deadline has moved.
func (c *Cell) ring() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.alive() {
		return
	}
	if left := time.Until(c.until); left > 0 {
		c.timer.Reset(left)
		return
	}
	c.finish(ErrExpired, time.Now())
}
