package leasemanager

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"leasehold/actors/keeper"
	"leasehold/session"
)

// TryAcquire reports whether the session is ours, since now or before. It waits for
// one answer of Redis, not for the lease. False without an error means that another
// has it, that what we had is still ending, or that a poll of the last holder may be in
// flight, whose lease somebody ended in its place. Errors mean "unknown": ErrUncertain,
// ErrHeldOff, ErrStopped, the context's, or what Redis said.
func (m *Member) TryAcquire(ctx context.Context, sessionID string) (bool, error) {
	if err := m.check(sessionID); err != nil {
		return false, err
	}
	if r := m.book.find(sessionID); r != nil && r.tenure.Usable() {
		return true, nil
	} else if r != nil && r.polled {
		if r.tenure.Context().Err() == nil {
			return false, ErrUncertain
		}
		return false, nil
	}
	a := newAnswer[keeper.Taken]()
	if !m.desk.put(&keeper.Take{Session: sessionID, Answer: a.give}) {
		return false, ErrStopped
	}
	taken, err := a.wait(ctx)
	if err != nil {
		return false, fmt.Errorf("leasemanager: acquire: %w", err)
	}
	return taken.Granted, translate("acquire", taken.Err)
}

// Release gives a session back that was leased by hand, and waits until that is done:
// after Callbacks.Lost has returned and Redis has answered. It returns nil once we do
// not hold it, also if we did not before. With an error the lease is no longer used,
// and runs out where Redis has it still.
func (m *Member) Release(ctx context.Context, sessionID string) error {
	if err := m.check(sessionID); err != nil {
		return err
	}
	if r := m.book.find(sessionID); r != nil && r.polled {
		return ErrPolled
	}
	a := newAnswer[error]()
	give := func(err error) { a.give(err) }
	if !m.desk.put(&keeper.GiveBack{Session: sessionID, Answer: give}) {
		return ErrStopped
	}
	answered, err := a.wait(ctx)
	if err == nil {
		err = answered
	}
	return translate("release", err)
}

// check says why nothing can be asked for now, or nil.
func (m *Member) check(sessionID string) error {
	if err := session.ValidID(sessionID); err != nil {
		return fmt.Errorf("leasemanager: %w", err)
	}
	return m.ready()
}

func translate(what string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, keeper.ErrDraining):
		return ErrStopped
	default:
		return fmt.Errorf("leasemanager: %s: %w", what, err)
	}
}

// desk is where requests wait for the keeper.
type desk struct {
	wake func()

	mu     sync.Mutex
	queue  []keeper.Request
	closed bool
}

// Next implements keeper.Requests.
func (d *desk) Next() []keeper.Request {
	d.mu.Lock()
	defer d.mu.Unlock()
	queue := d.queue
	d.queue = nil
	return queue
}

// put reports false if the desk is closed.
func (d *desk) put(r keeper.Request) bool {
	d.mu.Lock()
	if d.closed {
		d.mu.Unlock()
		return false
	}
	d.queue = append(d.queue, r)
	d.mu.Unlock()
	d.wake()
	return true
}

// close answers what nobody will take any more.
func (d *desk) close() {
	d.mu.Lock()
	d.closed = true
	d.mu.Unlock()
	for _, r := range d.Next() {
		switch r := r.(type) {
		case *keeper.Take:
			r.Answer(keeper.Taken{Err: keeper.ErrDraining})
		case *keeper.GiveBack:
			r.Answer(keeper.ErrDraining)
		}
	}
}

// answer is given once, to one who may have stopped waiting.
type answer[T any] struct {
	values chan T
	taken  atomic.Bool // given, or not wanted any more
}

func newAnswer[T any]() *answer[T] { return &answer[T]{values: make(chan T, 1)} }

// give reports false if nobody waits any more.
func (a *answer[T]) give(value T) bool {
	if !a.taken.CompareAndSwap(false, true) {
		return false
	}
	a.values <- value
	return true
}

// wait returns the answer, or why the context ended first.
func (a *answer[T]) wait(ctx context.Context) (value T, err error) {
	select {
	case value = <-a.values:
		return value, nil
	case <-ctx.Done():
	}
	if a.taken.CompareAndSwap(false, true) {
		return value, context.Cause(ctx)
	}
	return <-a.values, nil
}
