package cell

import (
	"context"
	"time"
)

// user is something that ends with a cell. Cells are many, and most of them have none
// of these most of the time.
type user struct {
	next   *user
	finish func(cause error) // must not block, nor call the cell
	until  time.Time         // of Work: when it is over at the latest
	ctx    context.Context   //nolint:containedctx // of Context: it lasts as long as the cell
}

// Context ends with the trust in the grant, and with the cell's parent, whose values it
// carries. Its cause is ErrExpired or what Kill was given. Who needs it for a while only
// asks for Use.
func (c *Cell) Context() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.whole == nil {
		c.whole, _ = c.use()
	}
	return c.whole.ctx
}

// Use returns a context like Context, which ends by cancel too. Until that was called the
// cell knows of it.
func (c *Cell) Use() (ctx context.Context, cancel context.CancelFunc) {
	c.mu.Lock()
	defer c.mu.Unlock()
	u, end := c.use()
	return u.ctx, func() {
		end(nil)
		c.forget(u)
	}
}

// Work notes a poll that Redis has begun and that lasts until then at most, up to done.
func (c *Cell) Work(until time.Time) (done func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	u := &user{until: until, finish: func(error) {}}
	c.add(u)
	return func() { c.forget(u) }
}

// Busy returns how long the poll in flight may still last; zero where there is none.
func (c *Cell) Busy(now time.Time) (left time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for u := c.users; u != nil; u = u.next {
		left = max(left, u.until.Sub(now))
	}
	return left
}

// use needs the lock.
func (c *Cell) use() (*user, context.CancelCauseFunc) {
	ctx, cancel := context.WithCancelCause(c.parent)
	u := &user{ctx: ctx, finish: cancel}
	c.add(u)
	return u, cancel
}

// OnEnd has f called, in a goroutine of its own, once the cell has ended, with the cause.
// One may wait so, the last who asked to; nil: nobody waits any more. He does not hear of
// the end of the cell's parent: see [Set.EndWith].
func (c *Cell) OnEnd(f func(cause error)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.end != nil && f != nil {
		go f(c.end.cause)
		return
	}
	c.onEnd = f
}

// add needs the lock.
func (c *Cell) add(u *user) {
	if c.end != nil {
		u.finish(c.end.cause)
		return
	}
	u.next, c.users = c.users, u
}

func (c *Cell) forget(u *user) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for at := &c.users; *at != nil; at = &(*at).next {
		if *at == u {
			*at = u.next
			return
		}
	}
}

// endWith ends the cell since its parent has ended.
func (c *Cell) endWith(cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.finish(cause, time.Time{})
}
