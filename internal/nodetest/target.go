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
	End      time.Time
	Canceled bool
	OK       bool
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

// Poll is the poll function of all nodes.
func (t *Target) Poll(ctx context.Context, job poller.Job) poller.Outcome {
	p := Poll{Session: job.Session.ID, Instance: job.Grant.Holder, Token: job.Grant.Token, Start: time.Now()}
	b := t.begin(p)
	defer func() { t.end(p) }()

	limit := time.NewTimer(job.Session.Timeout)
	defer limit.Stop()
	work := time.NewTimer(b.Delay)
	defer work.Stop()
	if b.Deaf {
		<-work.C
	} else {
		select {
		case <-work.C:
		case <-ctx.Done():
			p.Canceled = true
			return poller.Outcome{Class: poller.Canceled, Err: context.Cause(ctx)}
		case <-limit.C:
			return poller.Outcome{Class: "timeout", Err: context.DeadlineExceeded}
		}
	}
	switch {
	case b.Panic:
		panic("the target's behavior")
	case b.Fail:
		return poller.Outcome{Class: "http_error", Err: errors.New("status 500"), Status: 500}
	}
	p.OK = true
	return poller.Outcome{OK: true, Class: poller.Success, Status: 200}
}

func (t *Target) begin(p Poll) Behavior {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.inFlight[p.Session] > 0 {
		t.overlaps = append(t.overlaps, fmt.Sprintf("%s: %s (token %d) at %s", p.Session, p.Instance, p.Token, p.Start.Format(time.TimeOnly+".000")))
	}
	t.inFlight[p.Session]++
	return t.behavior[p.Session]
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
