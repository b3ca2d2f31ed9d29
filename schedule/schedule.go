package schedule

import "time"

// Shares of the interval.
const (
	onTimeShare = 20 // a start this share late is still on time
	slewShare   = 50 // the next slot moves by no more than this share
)

// firstRetry is the wait after the first failure in a row.
const firstRetry = time.Second

// Policy is the rhythm that a session wants.
type Policy struct {
	// ID chooses the session's phase within the interval.
	ID       string
	Interval time.Duration
	// Calendar, where there is one, has the slots; Interval then only bounds retries.
	Calendar *Calendar
}

// Run is one poll that has ended.
type Run struct {
	// Due is the slot that the poll served; zero for a first poll.
	Due        time.Time
	Start, End time.Time
	OK         bool
	// Failures counts the failed polls in a row before this one.
	Failures int
}

// Plan says when the session is polled next.
type Plan struct {
	// Due is the next slot, or after a failure the slot that is still to serve.
	Due time.Time
	// RetryAt is when the slot is tried again; zero after a success.
	RetryAt time.Time
	// Failures counts the failed polls in a row, this one included.
	Failures int
}

// Next plans the poll after the run.
func Next(p Policy, r Run) Plan {
	interval := whole(p.Interval)
	if !r.OK {
		due := r.Due
		if due.IsZero() {
			due = r.Start
		}
		failures := max(0, r.Failures)

		return Plan{Due: ceil(due), RetryAt: ceil(r.End.Add(backoff(failures, interval))), Failures: failures + 1}
	}
	if p.Calendar != nil {
		return Plan{Due: p.Calendar.Next(r.End)}
	}
	next := ceil(after(base(r, interval), r.End, interval))
	step := (interval / slewShare).Truncate(tick)

	return Plan{Due: next.Add(min(untilPhase(p.ID, next, interval), step))}
}

// Changed returns when a session is due whose interval was edited: an interval
// after its last start, and at once, as the zero time, if it never started.
func Changed(lastStart time.Time, interval time.Duration) time.Time {
	if lastStart.IsZero() {
		return lastStart
	}

	return ceil(lastStart.Add(whole(interval)))
}

// base returns the moment from which the slots are counted.
func base(r Run, interval time.Duration) time.Time {
	if late := r.Start.Sub(r.Due); late >= 0 && late <= interval/onTimeShare {
		return r.Due
	}

	return r.Start
}

// after returns the first slot behind the end of the poll.
func after(base, end time.Time, interval time.Duration) time.Time {
	// Sub and this bound saturate, so that no sum below overflows.
	elapsed := min(max(0, end.Sub(base)), maxDuration-interval)

	return base.Add(elapsed - elapsed%interval + interval)
}

// backoff doubles the wait with each failure in a row, up to the interval.
func backoff(failures int, interval time.Duration) time.Duration {
	wait := min(firstRetry, interval)
	for ; failures > 0 && wait < interval; failures-- {
		wait = min(2*wait, interval)
	}

	return wait
}
