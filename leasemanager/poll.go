package leasemanager

import (
	"context"
	"errors"

	"leasehold/actors/poller"
	"leasehold/session"
)

// Run is one poll to do.
type Run struct {
	SessionID  string
	InstanceID string
	// Token is the fencing token of the lease under which the poll runs.
	Token int64
	// Session is the document, decoded. Its URL is not polled by anybody else: what a
	// poll is, only the function knows.
	Session session.Session
}

// WithPoller makes the member a node of the fleet: it takes its share of all
// sessions that have a usable document and are neither paused nor external, and calls
// poll when each is due, at most once at a time for a session in the whole fleet.
//
// The context ends with the lease, after the document's timeout, or when Stop runs
// out of patience; poll must end soon after it. An error is a failed poll, which is
// retried after 1, 2, 4 … s up to the interval; one that is returned after the lease
// has ended says nothing. Errors end up in logs, so they must hold no secret. A panic
// is a failed poll, too. All nodes of such a fleet should poll alike.
func WithPoller(poll func(ctx context.Context, run Run) error) Option {
	return func(m *Member) { m.poll = pollWith(poll) }
}

// Classes of polls that failed.
const (
	classError   = "error"
	classTimeout = "timeout"
)

func pollWith(poll func(context.Context, Run) error) poller.Func {
	return func(lease context.Context, job poller.Job) poller.Outcome {
		ctx, cancel := context.WithTimeout(lease, job.Session.Timeout)
		defer cancel()
		err := call(ctx, poll, Run{
			SessionID: job.Session.ID, InstanceID: job.Grant.Holder,
			Token: int64(job.Grant.Token), Session: job.Session,
		})
		switch {
		case err == nil:
			return poller.Outcome{OK: true, Class: poller.Success}
		case lease.Err() != nil:
			return poller.Outcome{Class: poller.Canceled, Err: context.Cause(lease)}
		case errors.Is(err, context.DeadlineExceeded):
			return poller.Outcome{Class: classTimeout, Err: err}
		default:
			return poller.Outcome{Class: classError, Err: err}
		}
	}
}

// errExited is the error of a poll that ended its goroutine.
var errExited = errors.New("the poll ended its goroutine, by runtime.Goexit or a test's FailNow")

// call gives a poll a goroutine of its own, which it may end: the member's would never
// answer then. A panic is passed on.
func call(ctx context.Context, poll func(context.Context, Run) error, run Run) error {
	type end struct {
		err      error
		panicked any
	}
	ended := make(chan end, 1)
	go func() {
		e := end{err: errExited}
		defer func() {
			e.panicked = recover()
			ended <- e
		}()
		e.err = poll(ctx, run)
	}()
	e := <-ended
	if e.panicked != nil {
		panic(e.panicked)
	}
	return e.err
}
