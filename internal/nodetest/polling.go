package nodetest

import (
	"context"
	"time"

	"leasehold/actors/poller"
)

type pollingKey struct{}

// Polling returns the member on whose behalf a poll function was called; nil if
// none of a fleet's.
func Polling(ctx context.Context) *Member {
	m, _ := ctx.Value(pollingKey{}).(*Member)
	return m
}

// clientActs waits while the poll's process stands still, and reports whether it
// can do anything on its side of the connection now. A poll of no member can.
func clientActs(ctx context.Context) bool {
	m := Polling(ctx)
	return m == nil || m.halt.acts()
}

// clientLimit tells when the poll's process gives it up by a timeout.
func clientLimit(ctx context.Context, d time.Duration) (over <-chan struct{}, stop func() bool) {
	c := make(chan struct{})
	timer := time.AfterFunc(d, func() {
		if clientActs(ctx) {
			close(c)
		}
	})
	return c, timer.Stop
}

// answer is what the poll function returned, or its panic.
type answer struct {
	outcome poller.Outcome
	panic   any
}

// poll calls a poll function as the target sees this member: it does not begin
// while the member is frozen or after it died, hears of the context's end no sooner
// than a frozen member can tell, and goes on without a member that vanished.
func (m *Member) poll(ctx context.Context, job poller.Job, do poller.Func) poller.Outcome {
	if !m.halt.acts() || ctx.Err() != nil {
		return poller.Outcome{Class: poller.Canceled, Err: context.Cause(ctx)}
	}
	seen, hangUp := m.halt.view(context.WithValue(ctx, pollingKey{}, m))
	answers := make(chan answer, 1)
	m.polls.Go(func() {
		defer hangUp(context.Canceled)
		var a answer
		defer func() { answers <- a }()
		defer func() { a.panic = recover() }()
		a.outcome = do(seen, job)
	})
	select {
	case a := <-answers:
		m.halt.wait() // the answer lies in the socket's buffer
		if a.panic != nil {
			panic(a.panic)
		}
		return a.outcome
	case <-m.halt.gone:
		if m.halt.killed() { // else the target goes on without a client
			hangUp(ErrDied)
		}
		return poller.Outcome{Class: poller.Canceled, Err: ErrDied}
	}
}
