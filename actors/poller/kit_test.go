package poller_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"leasehold/actors/poller"
	"leasehold/gate"
	"leasehold/internal/actortest"
	"leasehold/internal/bubble"
	"leasehold/lease"
	"leasehold/lease/cell"
	"leasehold/session"
)

const interval = 10 * time.Second

var errRedis = errors.New("no answer from Redis")

// stub is a ledger and a poll target. Its plans are functions that a spec sets
// before the poller is made, or between two sleeps.
type stub struct {
	mu     sync.Mutex
	begin  func(slot lease.Slot) (lease.Start, error)
	finish func(r lease.Result) error
	poll   func(ctx context.Context) poller.Outcome
	record
}

// record is what a stub saw.
type record struct {
	begins   []time.Time
	polls    []time.Time
	ends     []time.Time
	flying   int
	together int // most polls in flight at once
	jobs     []poller.Job
	results  []lease.Result
	slots    []lease.Slot
}

// see returns what the stub saw so far.
func (s *stub) see() record {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.record
}

// plan changes the plans while a poller may be at work.
func (s *stub) plan(change func(s *stub)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(s)
}

func newStub() *stub {
	return &stub{
		begin:  func(lease.Slot) (lease.Start, error) { return lease.Start{At: time.Now()}, nil },
		finish: func(lease.Result) error { return nil },
		poll:   func(context.Context) poller.Outcome { return poller.Outcome{OK: true, Class: poller.Success} },
	}
}

func (s *stub) Begin(ctx context.Context, _ lease.Grant, slot lease.Slot) (lease.Start, error) {
	if ctx.Err() != nil { // nothing is sent
		return lease.Start{}, ctx.Err()
	}
	s.mu.Lock()
	s.begins = append(s.begins, time.Now())
	s.slots = append(s.slots, slot)
	begin := s.begin
	s.mu.Unlock()
	return begin(slot)
}

func (s *stub) Finish(_ context.Context, _ lease.Grant, r lease.Result) error {
	s.mu.Lock()
	s.results = append(s.results, r)
	finish := s.finish
	s.mu.Unlock()
	return finish(r)
}

func (s *stub) Poll(ctx context.Context, job poller.Job) poller.Outcome {
	s.mu.Lock()
	s.jobs = append(s.jobs, job)
	s.polls = append(s.polls, time.Now())
	s.flying++
	s.together = max(s.together, s.flying)
	poll := s.poll
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.flying--
		s.ends = append(s.ends, time.Now())
	}()
	return poll(ctx)
}

// takes is a poll that lasts d, or until its context ends.
func takes(d time.Duration) func(context.Context) poller.Outcome {
	return func(ctx context.Context) poller.Outcome {
		select {
		case <-time.After(d):
			return poller.Outcome{OK: true, Class: poller.Success}
		case <-ctx.Done():
			return poller.Outcome{Class: poller.Canceled, Err: context.Cause(ctx)}
		}
	}
}

func fails(context.Context) poller.Outcome {
	return poller.Outcome{Class: "connect_error", Err: errors.New("refused")}
}

// bench is one poller under a spec.
type bench struct {
	g      Gomega
	system *actortest.System
	parent *actortest.Probe
	stub   *stub
	cell   *cell.Cell
	pid    *actor.PID
	deps   *poller.Deps
	began  time.Time
}

func doc() *session.Session {
	return &session.Session{ID: "s", Kind: session.HTTP, Interval: interval, Timeout: 5 * time.Second, OnFailure: session.Keep}
}

// newBench prepares a poller whose cell is trusted for an hour.
func newBench(g Gomega) *bench {
	b := &bench{g: g, system: actortest.NewSystem(), stub: newStub(), began: time.Now()}
	b.parent = b.system.NewProbe(nil)
	b.cell = b.newCell(time.Hour)
	var questions atomic.Int64
	b.deps = &poller.Deps{
		Ledger: b.stub, Question: func() int64 { return questions.Add(1) }, Poll: b.stub.Poll, Gate: gate.New(10), Log: b.system.Log, Report: b.system.Report,
	}
	return b
}

func (*bench) newCell(d time.Duration) *cell.Cell {
	return cell.New(context.Background(), lease.Term{
		Grant: lease.Grant{Session: "s", Holder: "n1", Token: 7}, TrustedUntil: time.Now().Add(d),
	})
}

func (b *bench) start(s *session.Session, first time.Duration) {
	b.spawn(poller.Config{Session: s, First: first})
}

func (b *bench) spawn(cfg poller.Config) {
	cfg.Cell = b.cell
	b.pid = b.parent.Spawn(poller.Maker(b.deps)(cfg), "poller")
	bubble.Sleep(0)
}

func (b *bench) tell(m poller.Message) {
	b.system.Root.Send(b.pid, m)
	bubble.Sleep(0)
}

func (b *bench) terminated() bool { return actortest.Count[*actor.Terminated](b.parent) == 1 }

// occupy takes all places of a gate that has so many, until leave is called.
func occupy(g poller.Gate, places int) (leave func()) {
	GinkgoHelper()
	var taken []*gate.Place
	for range places {
		p, in := g.Enter(nil)
		Expect(in).To(BeTrue())
		taken = append(taken, p)
	}
	return func() {
		for _, p := range taken {
			p.Leave()
		}
	}
}

// keptGate keeps how it tells those who wait of their turn.
type keptGate struct {
	*gate.Gate
	turns []func()
}

func (k *keptGate) Enter(ready func()) (*gate.Place, bool) {
	k.turns = append(k.turns, ready)
	return k.Gate.Enter(ready)
}

// close ends the poller, which must end at once if nothing is in flight.
func (b *bench) close() {
	b.cell.Kill(context.Canceled)
	b.parent.Stop()
	b.system.Close()
}

// at returns the times as offsets from the spec's beginning.
func (b *bench) at(times []time.Time) []time.Duration {
	var at []time.Duration
	for _, t := range times {
		at = append(at, t.Sub(b.began))
	}
	return at
}

// run gives a spec its bench in a bubble.
func run(f func(g Gomega, b *bench)) {
	GinkgoHelper()
	bubble.Run(func(g Gomega) {
		b := newBench(g)
		defer b.close()
		f(g, b)
	})
}

func seconds(n ...float64) []time.Duration {
	var d []time.Duration
	for _, s := range n {
		d = append(d, time.Duration(s*float64(time.Second)))
	}
	return d
}
