package nodetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"leasehold/actors/poller"
	"leasehold/lease"
)

// Poll is one poll as the target saw it.
type Poll struct {
	Session  string
	Instance string
	Token    lease.Token
	Start    time.Time
	Until    time.Time // when its timeout ends it, if the process goes on
	Over     time.Time // when the poller's side gave the request up, or had its answer
	End      time.Time // when the target was done with it
	Canceled bool
	OK       bool
}

// Observer hears of each poll as it happens, on the poll's own goroutine. The
// pointer is the same in both calls.
type Observer interface {
	Began(p *Poll)
	// Over says that the request is over from the poller's side: answered, timed out
	// or canceled. The target may go on with it.
	Over(p *Poll)
}

// Behavior is how the target treats one session.
type Behavior struct {
	Delay time.Duration
	Fail  bool
	Panic bool
	// Deaf goes on for the whole delay although the poll was canceled.
	Deaf bool
}

// Target is polled by all nodes of a fleet. It may be used from any goroutine.
type Target struct {
	mu       sync.Mutex
	behavior map[string]Behavior
	inFlight map[string]int
	polls    []Poll
	overlaps []string
	observer Observer
}

// NewTarget returns a target that answers at once.
func NewTarget() *Target {
	return &Target{behavior: map[string]Behavior{}, inFlight: map[string]int{}}
}

// Set changes how a session is treated from its next poll on.
func (t *Target) Set(session string, b Behavior) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.behavior[session] = b
}

// Observe has all polls from now on told to o.
func (t *Target) Observe(o Observer) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.observer = o
}

// Poll is the poll function of all nodes.
func (t *Target) Poll(ctx context.Context, job poller.Job) poller.Outcome {
	now := time.Now()
	p := &Poll{
		Session: job.Session.ID, Instance: job.Grant.Holder, Token: job.Grant.Token, Start: now, Until: now.Add(job.Session.Timeout),
	}
	b, o := t.begin(*p)
	defer func() { t.end(*p) }()
	if o != nil {
		o.Began(p)
	}

	limit, stop := clientLimit(ctx, job.Session.Timeout)
	defer stop()
	work := time.NewTimer(b.Delay)
	defer work.Stop()
	class, err := "", error(nil)
	select {
	case <-work.C:
	case <-ctx.Done():
		p.Canceled, class, err = true, poller.Canceled, context.Cause(ctx)
	case <-limit:
		class, err = "timeout", context.DeadlineExceeded
	}
	p.OK, p.Over = err == nil && !b.Fail && !b.Panic, time.Now()
	if o != nil {
		o.Over(p)
	}
	switch {
	case err == nil:
	case b.Deaf:
		<-work.C
		p.Canceled, p.OK = false, !b.Fail && !b.Panic
	default:
		return poller.Outcome{Class: class, Err: err}
	}
	switch {
	case b.Panic:
		panic("the target's behavior")
	case b.Fail:
		return poller.Outcome{Class: "http_error", Err: errors.New("status 500"), Status: 500}
	}
	return poller.Outcome{OK: true, Class: poller.Success, Status: 200}
}

func (t *Target) begin(p Poll) (Behavior, Observer) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.inFlight[p.Session] > 0 {
		t.overlaps = append(t.overlaps, fmt.Sprintf("%s: %s (token %d) at %s", p.Session, p.Instance, p.Token, p.Start.Format(time.TimeOnly+".000")))
	}
	t.inFlight[p.Session]++
	return t.behavior[p.Session], t.observer
}

func (t *Target) end(p Poll) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.inFlight[p.Session]--
	p.End = time.Now()
	t.polls = append(t.polls, p)
}

// Overlaps names every poll that began while another of its session was in flight.
func (t *Target) Overlaps() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]string(nil), t.overlaps...)
}

// Polls returns the polls that have ended, in the order of their ends; of one
// session, if its name is not empty.
func (t *Target) Polls(session string) []Poll {
	t.mu.Lock()
	defer t.mu.Unlock()
	var polls []Poll
	for _, p := range t.polls {
		if session == "" || p.Session == session {
			polls = append(polls, p)
		}
	}
	return polls
}

// Since returns the polls that started at or after a moment, per session.
func (t *Target) Since(at time.Time) map[string][]Poll {
	polls := map[string][]Poll{}
	for _, p := range t.Polls("") {
		if !p.Start.Before(at) {
			polls[p.Session] = append(polls[p.Session], p)
		}
	}
	return polls
}
