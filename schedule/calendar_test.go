package schedule_test

import (
	"testing"
	"time"

	"leasehold/schedule"
)

func calendar(t *testing.T, expression, zone string) *schedule.Calendar {
	t.Helper()
	c, err := schedule.ParseCalendar(expression, zone)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func moment(t *testing.T, text string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// Clocks in Berlin go from 2 to 3 on 2027-03-28 and from 3 to 2 on 2026-10-25, in Troll
// from 1 to 3, on Lord Howe from 2 to half past 2 and back, in Santiago from 0 to 1.
func TestACalendarKeepsTheClockOnTheWall(t *testing.T) {
	for name, c := range map[string]struct {
		expression, zone string
		from             string
		want             []string
	}{
		"every five minutes, in UTC": {
			"*/5 * * * *", "", "2026-11-28T11:58:00Z",
			[]string{"2026-11-28T12:00:00Z", "2026-11-28T12:05:00Z"},
		},
		"a moment is not after itself": {"0 12 * * *", "", "2026-11-28T12:00:00Z", []string{"2026-11-29T12:00:00Z"}},
		"weekdays only":                {"0 9 * * 1-5", "", "2026-11-27T09:00:00Z", []string{"2026-11-30T09:00:00Z"}},
		"a daily task over the change to summer time": {
			"0 9 * * *", "Europe/Berlin", "2027-03-27T12:00:00Z",
			[]string{"2027-03-28T07:00:00Z", "2027-03-29T07:00:00Z"},
		},
		"what falls into an hour that does not come": {
			"30 2 * * *", "Europe/Berlin", "2027-03-27T12:00:00Z",
			[]string{"2027-03-28T01:30:00Z", "2027-03-29T00:30:00Z"},
		},
		"an hour that comes twice is served once": {
			"30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z",
			[]string{"2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"},
		},
		"every half hour goes on in the hour that comes twice": {
			"*/30 * * * *", "Europe/Berlin", "2026-10-25T00:15:00Z",
			[]string{"2026-10-25T00:30:00Z", "2026-10-25T01:00:00Z", "2026-10-25T01:30:00Z"},
		},
		"every second hour is served once in the hour that comes twice": {
			"0 */2 * * *", "Europe/Berlin", "2026-10-24T23:00:00Z",
			[]string{"2026-10-25T00:00:00Z", "2026-10-25T03:00:00Z"},
		},
		"hours that are named as a step": {
			"0 */1 * * *", "Europe/Berlin", "2026-10-24T23:00:00Z",
			[]string{"2026-10-25T00:00:00Z", "2026-10-25T01:00:00Z", "2026-10-25T02:00:00Z"},
		},
		"all hours, one by one": {
			"0 0-23 * * *", "Europe/Berlin", "2026-10-24T23:00:00Z",
			[]string{"2026-10-25T00:00:00Z", "2026-10-25T01:00:00Z", "2026-10-25T02:00:00Z"},
		},
		"every hour, in a word": {
			"@hourly", "Europe/Berlin", "2026-10-24T23:00:00Z",
			[]string{"2026-10-25T00:00:00Z", "2026-10-25T01:00:00Z", "2026-10-25T02:00:00Z"},
		},
		"a midnight that does not come": {
			"0 0 * * *", "America/Santiago", "2026-09-05T12:00:00Z",
			[]string{"2026-09-06T04:00:00Z", "2026-09-07T03:00:00Z"},
		},
		"two hours that do not come": {
			"30 1,2,3 * * *", "Antarctica/Troll", "2026-03-28T12:00:00Z",
			[]string{"2026-03-29T01:30:00Z", "2026-03-29T02:30:00Z", "2026-03-29T23:30:00Z"},
		},
		"half an hour that does not come": {
			"15,45 1,2 * * *", "Australia/Lord_Howe", "2026-10-03T12:00:00Z",
			[]string{"2026-10-03T14:45:00Z", "2026-10-03T15:15:00Z", "2026-10-03T15:45:00Z", "2026-10-04T14:15:00Z"},
		},
		"half an hour that comes twice is served once": {
			"45 1 * * *", "Australia/Lord_Howe", "2026-04-04T12:00:00Z",
			[]string{"2026-04-04T14:45:00Z", "2026-04-05T15:15:00Z"},
		},
		"a day that does not come": {
			"0 12 * * *", "Pacific/Apia", "2011-12-29T00:00:00Z",
			[]string{"2011-12-29T22:00:00Z", "2011-12-30T22:00:00Z", "2011-12-31T22:00:00Z"},
		},
		"a word": {"@daily", "America/New_York", "2026-11-28T12:00:00Z", []string{"2026-11-29T05:00:00Z"}},
	} {
		calendar, at := calendar(t, c.expression, c.zone), moment(t, c.from)
		for _, want := range c.want {
			at = calendar.Next(at)
			if !at.Equal(moment(t, want)) {
				t.Errorf("%s: %s, want %s", name, at.Format(time.RFC3339), want)
			}
		}
	}
}

func TestTheShortestTimeBetweenTwoMoments(t *testing.T) {
	for expression, want := range map[string]time.Duration{
		"*/5 * * * *": 5 * time.Minute, "0 9 * * 1-5": 24 * time.Hour, "0,10 * * * *": 10 * time.Minute,
	} {
		if got := calendar(t, expression, "").Shortest(); got != want {
			t.Errorf("%s: %s, want %s", expression, got, want)
		}
	}
}

func TestWhatIsNoCalendar(t *testing.T) {
	for _, c := range [][2]string{
		{"", ""},
		{"* * * *", ""},
		{"61 * * * *", ""},
		{"0 0 30 2 *", ""},
		{"TZ=UTC 0 0 * * *", ""},
		{"@every 1s", ""},
		{"@reboot", ""},
		{"0 0 * * *", "Mars/Olympus"},
		{"0 0 * * *", "Local"},
		{"* * * * * *", ""},
	} {
		if c, err := schedule.ParseCalendar(c[0], c[1]); err == nil {
			t.Errorf("%s is accepted", c)
		}
	}
}

func TestACalendarNamesTheNextSlotAndAFailureKeepsTheOldOne(t *testing.T) {
	policy := schedule.Policy{ID: "s", Interval: 5 * time.Minute, Calendar: calendar(t, "*/5 * * * *", "")}
	due := moment(t, "2026-11-28T12:00:00Z")
	plan := schedule.Next(policy, schedule.Run{Due: due, Start: due, End: due.Add(11 * time.Minute), OK: true})
	if !plan.Due.Equal(due.Add(15 * time.Minute)) {
		t.Errorf("after a run of eleven minutes it is due at %s", plan.Due)
	}
	plan = schedule.Next(policy, schedule.Run{Due: due, Start: due, End: due.Add(time.Second), Failures: 1})
	if !plan.Due.Equal(due) || !plan.RetryAt.Equal(due.Add(3*time.Second)) {
		t.Errorf("after the second failure it is due at %s, tried again at %s", plan.Due, plan.RetryAt)
	}
}
