package schedule_test

import (
	"testing"
	"time"

	"leasehold/schedule"
)

func TestOverdue(t *testing.T) {
	const timeout = 5 * time.Second
	every := schedule.Policy{ID: "s", Interval: 10 * time.Second}
	nightly := schedule.Policy{ID: "s", Interval: 24 * time.Hour, Calendar: calendar(t, "30 2 * * 1-5", "Europe/Berlin")}
	friday := moment(t, "2026-11-27T01:30:00Z")
	tuesday := friday.Add(4 * 24 * time.Hour) // two slots on: Monday, Tuesday
	for name, c := range map[string]struct {
		policy   schedule.Policy
		due, now time.Time
		want     time.Duration
	}{
		"never due":                       {every, time.Time{}, at(0), 0},
		"not due yet":                     {every, at(5000), at(0), 0},
		"two slots, and a poll in flight": {every, at(0), at(25_000), 0},
		"more than that":                  {every, at(0), at(25_001), 25_001 * time.Millisecond},
		"a calendar's two slots":          {nightly, friday, tuesday.Add(timeout), 0},
		"more than two of a calendar":     {nightly, friday, tuesday.Add(timeout + time.Second), 4*24*time.Hour + 6*time.Second},
	} {
		if got := schedule.Overdue(c.policy, c.due, c.now, timeout); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
