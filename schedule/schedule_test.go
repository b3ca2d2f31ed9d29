package schedule_test

import (
	"fmt"
	"math"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"

	"leasehold/schedule"
)

// at is a moment of the server's clock, in milliseconds after some second.
func at(ms int) time.Time {
	return time.Unix(1_700_000_000, 0).Add(time.Duration(ms) * time.Millisecond)
}

// onPhase finds an ID whose phase is that of at(0), so that nothing slews.
func onPhase(t *testing.T, interval time.Duration) schedule.Policy {
	t.Helper()
	want := time.Duration(at(0).UnixMilli()%interval.Milliseconds()) * time.Millisecond
	for i := range 1_000_000 {
		if id := strconv.Itoa(i); schedule.Offset(id, interval) == want {
			return schedule.Policy{ID: id, Interval: interval}
		}
	}
	t.Fatal("no ID with that phase")

	return schedule.Policy{}
}

func TestSuccess(t *testing.T) {
	policy := onPhase(t, time.Second)
	for name, c := range map[string]struct{ due, start, end, want int }{
		"on time":                            {0, 0, 10, 1000},
		"a little late keeps the grid":       {0, 50, 60, 1000},
		"overrun drops the covered slot":     {0, 0, 1001, 2000},
		"a slot at the very end is covered":  {0, 0, 1000, 2000},
		"a long overrun gives no burst":      {0, 20, 60_500, 61_000},
		"just short of an overrun":           {0, 0, 999, 1000},
		"an end before its start is no time": {0, 0, -5, 1000},
	} {
		plan := schedule.Next(policy, schedule.Run{
			Due: at(c.due), Start: at(c.start), End: at(c.end), OK: true, Failures: 3,
		})
		if !plan.Due.Equal(at(c.want)) || !plan.RetryAt.IsZero() || plan.Failures != 0 {
			t.Errorf("%s: %+v, want due at %v", name, plan, at(c.want))
		}
	}
}

func TestALateStartBeginsANewGrid(t *testing.T) {
	policy := onPhase(t, time.Second)
	for name, run := range map[string]schedule.Run{
		"late":           {Due: at(0), Start: at(51), End: at(60), OK: true},
		"after downtime": {Due: at(-3_600_000), Start: at(51), End: at(60), OK: true},
		"first poll":     {Start: at(51), End: at(60), OK: true},
		"early":          {Due: at(52), Start: at(51), End: at(60), OK: true},
	} {
		// One interval after the start, and the largest step toward the phase.
		if plan := schedule.Next(policy, run); !plan.Due.Equal(at(51 + 1000 + 20)) {
			t.Errorf("%s: due %v, want %v", name, plan.Due, at(1071))
		}
	}
}

func TestFailure(t *testing.T) {
	for name, c := range map[string]struct {
		interval time.Duration
		before   int
		wait     time.Duration
	}{
		"first":                      {10 * time.Second, 0, time.Second},
		"second":                     {10 * time.Second, 1, 2 * time.Second},
		"third":                      {10 * time.Second, 2, 4 * time.Second},
		"fourth":                     {10 * time.Second, 3, 8 * time.Second},
		"up to the interval":         {10 * time.Second, 4, 10 * time.Second},
		"long after":                 {10 * time.Second, 1_000_000, 10 * time.Second},
		"a huge count":               {10 * time.Second, math.MaxInt - 1, 10 * time.Second},
		"an interval below a second": {100 * time.Millisecond, 0, 100 * time.Millisecond},
		"a negative count":           {10 * time.Second, -4, time.Second},
	} {
		run := schedule.Run{Due: at(7), Start: at(100), End: at(250), Failures: c.before}
		plan := schedule.Next(schedule.Policy{ID: "x", Interval: c.interval}, run)
		if want := run.End.Add(c.wait); !plan.Due.Equal(run.Due) || !plan.RetryAt.Equal(want) {
			t.Errorf("%s: %+v, want retry at %v and due unchanged", name, plan, want)
		}
		if plan.Failures != max(0, c.before)+1 {
			t.Errorf("%s: %d failures", name, plan.Failures)
		}
	}
}

func TestAFirstPollThatFailsIsDueSinceItsStart(t *testing.T) {
	plan := schedule.Next(schedule.Policy{ID: "x", Interval: time.Minute}, schedule.Run{Start: at(5), End: at(9)})
	if !plan.Due.Equal(at(5)) || !plan.RetryAt.Equal(at(1009)) {
		t.Errorf("got %+v", plan)
	}
}

func TestChanged(t *testing.T) {
	if got := schedule.Changed(at(10), time.Minute); !got.Equal(at(60_010)) {
		t.Errorf("due %v, want an interval after the last start", got)
	}
	if got := schedule.Changed(time.Time{}, time.Minute); !got.IsZero() {
		t.Errorf("due %v, want at once", got)
	}
}

func TestTimesAreWholeMilliseconds(t *testing.T) {
	run := schedule.Run{Due: at(0).Add(1), Start: at(0).Add(2), End: at(0).Add(3)}
	policy := schedule.Policy{ID: "x", Interval: 100*time.Millisecond + 1}
	for _, run.OK = range []bool{true, false} {
		plan := schedule.Next(policy, run)
		if plan.Due.Nanosecond()%1e6 != 0 || plan.RetryAt.Nanosecond()%1e6 != 0 {
			t.Errorf("got %+v", plan)
		}
		if plan.Due.Before(run.Due) {
			t.Errorf("rounded to before the due time: %+v", plan)
		}
	}
}

func TestAMassSpreadsOverItsInterval(t *testing.T) {
	const sessions, bins = 1000, 10
	const interval = 10 * time.Second
	var count [bins]int
	for i := range sessions {
		policy := schedule.Policy{ID: fmt.Sprintf("s%d", i), Interval: interval}
		run := schedule.Run{Start: at(0), End: at(30), OK: true}
		for range 51 {
			due := schedule.Next(policy, run).Due
			run = schedule.Run{Due: due, Start: due, End: due.Add(30 * time.Millisecond), OK: true}
		}
		phase := time.Duration(run.Due.UnixMilli()%interval.Milliseconds()) * time.Millisecond
		if want := schedule.Offset(policy.ID, interval); phase != want {
			t.Fatalf("%s is at %v of the interval, want %v", policy.ID, phase, want)
		}
		count[phase*bins/interval]++
	}
	for bin, n := range count {
		// Even spreading gives 100 with a standard deviation of 9.5: this is four.
		if n < 62 || n > 138 {
			t.Errorf("bin %d has %d of %d sessions", bin, n, sessions)
		}
	}
}

func TestAbsurdTimesGiveNoPanicAndNoEarlySlot(t *testing.T) {
	for _, interval := range []time.Duration{math.MinInt64, -1, 0, 1, time.Second, math.MaxInt64} {
		for _, end := range []time.Time{{}, at(0), time.Unix(1<<40, 0), time.Unix(-1<<40, 0)} {
			for _, ok := range []bool{true, false} {
				plan := schedule.Next(schedule.Policy{Interval: interval}, schedule.Run{Start: at(0), End: end, OK: ok})
				if plan.Due.Before(at(0)) {
					t.Errorf("interval %v, end %v: %+v is before the start", interval, end, plan)
				}
			}
		}
	}
}

// The rhythm over many rounds, with lateness and lengths of all kinds.
func TestRhythm(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		interval := time.Duration(rapid.Int64Range(100, 100_000).Draw(t, "interval ms")) * time.Millisecond
		policy := schedule.Policy{ID: rapid.String().Draw(t, "id"), Interval: interval}
		share := rapid.Int64Range(0, 1000)
		part := func(name string, of time.Duration) time.Duration {
			return (of * time.Duration(share.Draw(t, name)) / 1000).Truncate(time.Millisecond)
		}
		last := schedule.Run{Start: at(0), End: at(0).Add(part("length", 3*interval)), OK: true}
		for range rapid.IntRange(1, 60).Draw(t, "rounds") {
			plan := schedule.Next(policy, last)
			if !plan.Due.After(last.End) {
				t.Fatalf("due %v, before the poll of %+v has ended", plan.Due, last)
			}
			late := rapid.SampledFrom([]time.Duration{0, part("late", interval/10), part("very late", 5*interval)}).Draw(t, "lateness")
			start := plan.Due.Add(late)
			gap := start.Sub(last.Start)
			if gap*100 < interval*95 {
				t.Fatalf("starts %v apart, at an interval of %v", gap, interval)
			}
			if onTime := last.End.Sub(last.Start) < interval*9/10; onTime && late == 0 && gap*100 > interval*102 {
				t.Fatalf("starts %v apart, at an interval of %v, with nothing late", gap, interval)
			}
			last = schedule.Run{Due: plan.Due, Start: start, End: start.Add(part("length", 3*interval)), OK: true}
		}
	})
}

func TestOnPhaseItStaysExactly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		interval := time.Duration(rapid.Int64Range(100, 1_000_000).Draw(t, "interval ms")) * time.Millisecond
		policy := schedule.Policy{ID: rapid.String().Draw(t, "id"), Interval: interval}
		run := schedule.Run{Start: at(int(rapid.Int32().Draw(t, "first start"))), OK: true}
		for range 75 {
			run.End = run.Start
			run.Due = schedule.Next(policy, run).Due
			run.Start = run.Due
		}
		run.Start = run.Due.Add((interval / 20).Truncate(time.Millisecond)) // still on time
		run.End = run.Start
		if next := schedule.Next(policy, run).Due; next.Sub(run.Due) != interval {
			t.Fatalf("slots %v apart, want %v", next.Sub(run.Due), interval)
		}
	})
}

func TestRetriesNeverComeEarlyAndEndAtTheInterval(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		interval := time.Duration(rapid.Int64Range(100, 1_000_000).Draw(t, "interval ms")) * time.Millisecond
		run := schedule.Run{Due: at(0), Start: at(0), End: at(rapid.IntRange(0, 1_000_000).Draw(t, "length"))}
		before := time.Duration(0)
		for range 40 {
			plan := schedule.Next(schedule.Policy{ID: "x", Interval: interval}, run)
			wait := plan.RetryAt.Sub(run.End)
			if wait < min(time.Second, interval) || wait > interval || wait < before || !plan.Due.Equal(run.Due) {
				t.Fatalf("after %d failures: %+v, a wait of %v", run.Failures, plan, wait)
			}
			before, run.Failures = wait, plan.Failures
		}
		if before != interval {
			t.Fatalf("the wait settled at %v, want the interval %v", before, interval)
		}
	})
}

func TestOffsetIsStableAndWithinTheInterval(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		id, interval := rapid.String().Draw(t, "id"), time.Duration(rapid.Int64().Draw(t, "interval"))
		offset := schedule.Offset(id, interval)
		if offset != schedule.Offset(id, interval) || offset < 0 || offset%time.Millisecond != 0 ||
			offset >= max(time.Millisecond, interval) {
			t.Fatalf("offset %v in %v", offset, interval)
		}
	})
}

func ExampleNext() {
	start := time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)
	plan := schedule.Next(
		schedule.Policy{ID: "pump-7", Interval: 10 * time.Second},
		schedule.Run{Due: start, Start: start, End: start.Add(time.Second), OK: false, Failures: 2},
	)
	fmt.Println("due:", plan.Due.Format(time.TimeOnly))
	fmt.Println("retry:", plan.RetryAt.Format(time.TimeOnly))
	fmt.Println("failures:", plan.Failures)
	// Output:
	// due: 12:00:00
	// retry: 12:00:05
	// failures: 3
}
