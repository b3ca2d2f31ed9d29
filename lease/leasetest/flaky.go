package leasetest

import (
	"context"
	"errors"
	"sync"
	"time"

	"leasehold/lease"
)

// ErrFlaky is what a planned failure answers.
var ErrFlaky = errors.New("planned failure of the store")

// Fault is what happens to one call.
type Fault int

// The faults. Pass is none.
const (
	Pass Fault = iota
	// Fail answers with ErrFlaky and does nothing.
	Fail
	// Hang does nothing and answers when the call's context ends.
	Hang
	// LoseReply does what was asked and answers with ErrFlaky.
	LoseReply
	// LateReply does what was asked and answers when the call's context ends.
	LateReply
)

// Op names a method of a store.
type Op string

// The methods that can fail.
const (
	OpAcquire Op = "acquire"
	OpRenew   Op = "renew"
	OpRelease Op = "release"
	OpLook    Op = "look"
	OpBegin   Op = "begin"
	OpFinish  Op = "finish"
)

// Flaky is a [lease.Store] and [lease.Ledger] that fails by plan. Make it with
// [NewFlaky]; its methods may be called from any goroutine.
type Flaky struct {
	store  lease.Store
	ledger lease.Ledger

	mu     sync.Mutex
	next   map[Op][]Fault
	always map[Op]Fault
	delay  time.Duration
	calls  map[Op]int
}

var (
	_ lease.Store  = (*Flaky)(nil)
	_ lease.Ledger = (*Flaky)(nil)
)

// NewFlaky returns a wrapper that passes everything on until told otherwise. One
// of the two may be nil when it is not called.
func NewFlaky(store lease.Store, ledger lease.Ledger) *Flaky {
	return &Flaky{
		store: store, ledger: ledger, next: map[Op][]Fault{}, always: map[Op]Fault{}, calls: map[Op]int{},
	}
}

// Next plans the faults of the op's next calls, before what [Flaky.Always] says.
func (f *Flaky) Next(op Op, faults ...Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.next[op] = append(f.next[op], faults...)
}

// Always plans one fault for all further calls of the ops, of all ops when none is
// named. Pass heals; calls that hang already stay so until their contexts end.
func (f *Flaky) Always(fault Fault, ops ...Op) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(ops) == 0 {
		ops = []Op{OpAcquire, OpRenew, OpRelease, OpLook, OpBegin, OpFinish}
	}
	for _, op := range ops {
		f.always[op] = fault
	}
}

// Delay makes every further call wait that long before it does anything.
func (f *Flaky) Delay(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.delay = d
}

// Calls counts the op's calls so far.
func (f *Flaky) Calls(op Op) int {
	f.mu.Lock()
	defer f.mu.Unlock()

	return f.calls[op]
}

// Acquire is [lease.Store]'s, by plan.
func (f *Flaky) Acquire(ctx context.Context, holder string, claims []lease.Claim) []lease.Outcome {
	var out []lease.Outcome
	err := f.play(ctx, OpAcquire, func() { out = f.store.Acquire(ctx, holder, claims) })
	if err == nil {
		return out
	}
	out = make([]lease.Outcome, len(claims))
	for i, c := range claims {
		out[i] = lease.Outcome{Session: c.Session, Err: err}
	}

	return out
}

// Renew is [lease.Store]'s, by plan.
func (f *Flaky) Renew(ctx context.Context, renewals []lease.Renewal) []lease.Verdict {
	var out []lease.Verdict
	err := f.play(ctx, OpRenew, func() { out = f.store.Renew(ctx, renewals) })
	if err == nil {
		return out
	}
	out = make([]lease.Verdict, len(renewals))
	for i := range out {
		out[i].Err = err
	}

	return out
}

// Release is [lease.Store]'s, by plan.
func (f *Flaky) Release(ctx context.Context, releases []lease.Release) []error {
	var out []error
	err := f.play(ctx, OpRelease, func() { out = f.store.Release(ctx, releases) })
	if err == nil {
		return out
	}
	out = make([]error, len(releases))
	for i := range out {
		out[i] = err
	}

	return out
}

// Look is [lease.Store]'s, by plan.
func (f *Flaky) Look(ctx context.Context, sessions []string) []lease.Status {
	var out []lease.Status
	err := f.play(ctx, OpLook, func() { out = f.store.Look(ctx, sessions) })
	if err == nil {
		return out
	}
	out = make([]lease.Status, len(sessions))
	for i, id := range sessions {
		out[i] = lease.Status{Session: id, Err: err}
	}

	return out
}

// Begin is [lease.Ledger]'s, by plan.
func (f *Flaky) Begin(ctx context.Context, g lease.Grant, slot lease.Slot) (lease.Start, error) {
	var start lease.Start
	var answer error
	if err := f.play(ctx, OpBegin, func() { start, answer = f.ledger.Begin(ctx, g, slot) }); err != nil {
		return lease.Start{}, err
	}

	return start, answer
}

// Finish is [lease.Ledger]'s, by plan.
func (f *Flaky) Finish(ctx context.Context, g lease.Grant, r lease.Result) error {
	var answer error
	if err := f.play(ctx, OpFinish, func() { answer = f.ledger.Finish(ctx, g, r) }); err != nil {
		return err
	}

	return answer
}

// play does what the plan says about the op's next call and returns the planned
// error, nil when the answer of do is the answer.
func (f *Flaky) play(ctx context.Context, op Op, do func()) error {
	fault, delay := f.plan(op)
	if err := wait(ctx, delay); err != nil {
		return err
	}
	switch fault {
	case Fail:
		return ErrFlaky
	case LoseReply:
		do()

		return ErrFlaky
	case Hang:
		<-ctx.Done()

		return ctx.Err()
	case LateReply:
		do()
		<-ctx.Done()

		return ctx.Err()
	case Pass:
	}
	do()

	return nil
}

func (f *Flaky) plan(op Op) (Fault, time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls[op]++
	fault := f.always[op]
	if planned := f.next[op]; len(planned) > 0 {
		fault, f.next[op] = planned[0], planned[1:]
	}

	return fault, f.delay
}

func wait(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
