package poller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"leasehold/eventlog"
	"leasehold/lease"
	"leasehold/lease/cell"
	"leasehold/results"
	"leasehold/schedule"
	"leasehold/session"
)

const (
	// leastSlack is how much longer than its timeout a poll is announced to Redis at
	// least: see Slack.
	leastSlack = 3 * time.Second

	// recordTries is how often a result is written before it is given up, and
	// recordPause the wait between two tries.
	recordTries = 3
	recordPause = 100 * time.Millisecond

	// grace is how late a task is served that skips what was missed: long enough for
	// another node to take it over.
	grace = time.Minute

	// recordLimit bounds one write of a result.
	recordLimit = 5 * time.Second
)

// Slack is how much longer than its timeout a poll is announced to Redis, and may be in
// flight: what Begin itself may take, which the timeout of a command bounds. A poll cut
// short by it would pass for one that says nothing of its target, and be repeated at once.
func Slack(timeout time.Duration) time.Duration { return max(leastSlack, timeout+time.Second) }

// attempt is one try to poll: begin, poll, finish.
type attempt struct {
	deps    *Deps
	cell    *cell.Cell
	session *session.Session
	// name and question are what lease.Slot says.
	name, question int64
	// owed is the result of the poll before, if Redis has not taken it yet.
	owed *owed
	// failing says that the poll before failed.
	failing bool
}

// owed is a result that was given up for the moment, as Redis did not answer.
type owed struct {
	result lease.Result
	event  results.Message
	until  time.Time // when the session is polled again all the same
}

// settle has Redis take what is owed before anything else is begun, lest a task's slot
// count as not served. To say it again of the same start changes nothing.
func (a *attempt) settle(ctx context.Context) error {
	if a.owed == nil {
		return nil
	}
	limited, cancel := context.WithTimeout(ctx, recordLimit)
	defer cancel()
	err := a.deps.Ledger.Finish(limited, a.grant(), a.owed.result)
	switch {
	case err == nil:
		a.deps.Results.Recorded(a.owed.event)
		a.owed = nil
	case errors.Is(err, lease.ErrLost):
		a.fenced(err)
		a.owed = nil
	case lease.Unknown(err) && !time.Now().Before(a.owed.until): // the next slot does not wait for it
		a.owed = nil
		return nil
	}
	return err
}

// run does the attempt, unless ask has ended. It ends with poll.
func (a *attempt) run(ask, poll context.Context) *ran {
	if ask.Err() != nil {
		return a.skipped(&ran{kind: unusable})
	}
	bound := a.session.Timeout + Slack(a.deps.Timeout)
	begun, err := lease.Start{}, a.settle(poll)
	if !errors.Is(err, lease.ErrLost) && ask.Err() != nil {
		return a.skipped(&ran{kind: unusable})
	}
	poll, cancel := context.WithDeadline(poll, time.Now().Add(bound))
	defer cancel()
	if err == nil {
		begun, err = a.deps.Ledger.Begin(poll, a.grant(), a.slot(bound))
	}
	heard := time.Now()
	switch {
	case errors.Is(err, lease.ErrLost):
		a.cell.Kill(err)
		return a.skipped(&ran{kind: lost})
	case err != nil && ask.Err() != nil:
		return a.skipped(&ran{kind: unusable}) // the question was cut off, by a stop or the cell's end
	case err != nil:
		return a.skipped(&ran{kind: deferred, err: err})
	case begun.Wait > 0:
		return a.skipped(&ran{kind: notDue, wait: begun.Wait})
	}
	return a.work(poll, begun, heard)
}

func (a *attempt) skipped(r *ran) *ran {
	r.owed = a.owed
	return skipped(a.deps.Log, a.grant(), r)
}

// slot says what Redis shall begin.
func (a *attempt) slot(bound time.Duration) lease.Slot {
	slot := lease.Slot{
		Interval: a.session.Interval, Bound: bound, Attempt: a.name, Question: a.question,
		Keep: a.session.Task(), Plan: a.session.Calendar.String(),
	}
	if a.session.Calendar != nil {
		slot.Next = a.session.Calendar.Next(time.Now())
	}
	if a.session.Misfire == session.Skip {
		slot.Grace = max(grace, cmp.Or(a.session.LeaseTTL, a.deps.TTL))
	}
	return slot
}

// work polls and records. Redis has begun at begun.At, which was heard of at
// heard.
func (a *attempt) work(poll context.Context, begun lease.Start, heard time.Time) *ran {
	g := a.grant()
	late := delay(begun)
	a.deps.Log.Emit(eventlog.PollStarted{
		Session: g.Session, Version: int64(g.Token), Delay: late, Missed: slotsMissed(a.session, begun, late),
	})

	outcome := a.poll(poll, late)
	took := time.Since(heard)
	result := a.result(outcome, begun, begun.At.Add(took), took)
	event := results.Encode(g, result)
	result.Event = event.JSON

	recorded, spoken := a.record(poll, result, event)
	a.log(outcome, result, begun.Failures, spoken)

	next := result.NextDue
	if result.RetryAt.After(next) {
		next = result.RetryAt
	}
	// Reckoned from when the answer was heard, this clock is never ahead of Redis.
	wait := max(0, next.Sub(begun.At.Add(time.Since(heard))))
	r := &ran{kind: polled, wait: wait, canceled: result.Class == Canceled}
	r.failed = !result.OK && !r.canceled
	if !recorded && spoken {
		r.owed = &owed{result: result, event: event, until: time.Now().Add(wait)}
	}
	return r
}

// poll calls the poll function; a panic is a failed poll.
func (a *attempt) poll(ctx context.Context, late time.Duration) (o Outcome) {
	defer func() {
		if r := recover(); r != nil {
			o = Outcome{Class: Panicked, Err: fmt.Errorf("the poll panicked: %v", r)}
		}
	}()
	if !a.cell.Usable() { // the machine stood still since Redis answered
		return Outcome{Class: Canceled, Err: cell.ErrExpired}
	}
	end, _ := ctx.Deadline()
	defer a.cell.Work(end)() // no sooner: until Redis has begun, another's may be in flight
	holds := func() bool { return a.cell.Holds() && time.Now().Before(end) }
	a.deps.Flights.Add(a.cell)
	defer a.deps.Flights.Remove(a.cell)
	return a.deps.Poll(ctx, Job{Session: *a.session, Grant: a.grant(), Attempt: a.name, Delay: late, Holds: holds})
}

// result computes when the session is due again.
func (a *attempt) result(o Outcome, begun lease.Start, ended time.Time, took time.Duration) lease.Result {
	r := lease.Result{
		OK: o.OK, Class: o.Class, Status: o.Status, Bytes: o.Bytes, Body: o.Body,
		Due: begun.Due, Started: begun.At, Sequence: begun.Sequence, Duration: took,
	}
	if o.Err != nil {
		r.Error = o.Err.Error()
	}
	if o.Class == Canceled { // says nothing of the target: the slot stays open
		r.NextDue, r.Failures = begun.At, begun.Failures
		switch {
		case a.session.Misfire == session.Skip: // by now the slot may be one to skip
			r.NextDue = ended
		case !begun.Due.IsZero():
			r.NextDue = begun.Due
		}
		return r
	}
	plan := schedule.Next(
		a.session.Policy(),
		schedule.Run{Due: begun.Due, Start: begun.At, End: ended, OK: o.OK, Failures: begun.Failures},
	)
	r.NextDue, r.RetryAt, r.Failures = plan.Due, plan.RetryAt, plan.Failures
	return r
}

// record writes the result, also when the lease has ended meanwhile: the fence
// refuses it then, and the successor need not wait for this poll any more. Sinks get
// what was recorded. It reports whether it was, and whether the result may be spoken of
// as one: not if it came after the lease.
func (a *attempt) record(poll context.Context, r lease.Result, event results.Message) (recorded, spoken bool) {
	g := a.grant()
	ctx := context.WithoutCancel(poll)
	for try := 1; ; try++ {
		ended := !a.cell.Alive() // then there is no time for more than this
		limited, cancel := context.WithTimeout(ctx, recordLimit)
		err := a.deps.Ledger.Finish(limited, g, r)
		cancel()
		switch {
		case err == nil:
			a.deps.Results.Recorded(event)
			return true, true
		case errors.Is(err, lease.ErrLost):
			a.cell.Kill(err)
			a.fenced(err)
			return false, false
		case try == recordTries, ended:
			a.deps.Log.Emit(eventlog.PollDeferred{Session: g.Session, Version: int64(g.Token), Err: err})
			return false, !ended
		}
		a.pause()
	}
}

// fenced tells of a result that Redis refused.
func (a *attempt) fenced(err error) {
	g := a.grant()
	a.deps.Results.Fenced()
	a.deps.Log.Emit(eventlog.ResultFenced{Session: g.Session, Version: int64(g.Token), Err: err})
}

// pause is the wait between two tries. When the lease ends, the last one follows at once.
func (a *attempt) pause() {
	held, done := a.cell.Use()
	defer done()
	select {
	case <-time.After(recordPause):
	case <-held.Done():
	}
}

// delay is how late a poll began after its slot; below zero where that is not known. A
// retry serves the slot of the poll that failed, and is late on purpose.
func delay(s lease.Start) time.Duration {
	if s.Due.IsZero() || s.Failures > 0 {
		return -1
	}
	return max(0, s.At.Sub(s.Due))
}

// slotsMissed is how many slots after the one that is served passed until the poll began so late
// after it: they are not made up for.
func slotsMissed(s *session.Session, begun lease.Start, late time.Duration) int {
	const most = 1000
	switch {
	case late <= 0:
		return 0
	case s.Calendar == nil:
		return int(late / s.Interval)
	}
	n := 0
	for at := s.Calendar.Next(begun.Due); n < most && !at.IsZero() && !at.After(begun.At); at = s.Calendar.Next(at) {
		n++
	}
	return n
}

func (a *attempt) log(o Outcome, r lease.Result, before int, spoken bool) {
	g := a.grant()
	switch {
	case !spoken, o.Class == Canceled: // nothing was learnt of the target
		a.deps.Log.Emit(eventlog.PollCanceled{Session: g.Session, Version: int64(g.Token), Duration: r.Duration})
	case o.OK:
		a.deps.Log.Emit(eventlog.PollSucceeded{
			Session: g.Session, Version: int64(g.Token), Duration: r.Duration, Status: o.Status, Trace: o.Trace,
		})
		if before > 0 || a.failing {
			a.deps.Failing.Remove(a.cell)
		}
		if before > 0 {
			a.deps.Log.Emit(eventlog.PollRecovered{Session: g.Session, Version: int64(g.Token), Failures: before})
		}
	default:
		a.deps.Failing.Add(a.cell)
		a.deps.Log.Emit(eventlog.PollFailed{
			Session: g.Session, Version: int64(g.Token), Class: o.Class, Err: o.Err,
			Duration: r.Duration, Failures: r.Failures, Repeat: before > 0, Trace: o.Trace,
		})
	}
}

func (a *attempt) grant() lease.Grant { return a.cell.Grant() }
