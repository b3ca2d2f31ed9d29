package schedule

import (
	"errors"
	"fmt"
	"strings"
	"time"

	cron "github.com/netresearch/go-cron"
)

// Calendar says when a session is due by the clock on the wall of some zone. Where the
// clock is set forward, what falls into the gap is due later by that much. Where it is
// set back, what names hours is due in the first of two equal ones only; what is due
// every hour goes on.
type Calendar struct {
	text   string
	zone   *time.Location
	times  cron.Schedule
	hourly bool
}

// sample is how many gaps Shortest looks at: a cron expression has most of its
// variety within so many.
const sample = 32

// ParseCalendar reads a cron expression of five fields, or a word such as @daily. An
// empty zone is UTC.
func ParseCalendar(expression, zone string) (*Calendar, error) {
	times, err := cron.ParseStandard(expression) // its error quotes all of a long text
	if err != nil || strings.Contains(expression, "TZ=") || strings.HasPrefix(strings.TrimSpace(expression), "@every") {
		return nil, errors.New("must be five fields within their ranges, such as */5 * * * *, or a word such as @daily")
	}
	where, err := time.LoadLocation(zone)
	if err != nil || zone == "Local" {
		return nil, fmt.Errorf("is in no time zone that is known: %.64q", zone)
	}
	c := &Calendar{text: expression + " " + where.String(), zone: where, times: times, hourly: isHourly(expression)}
	if c.Next(epoch()).IsZero() {
		return nil, errors.New("names a moment that never comes")
	}
	return c, nil
}

// isHourly reports whether the expression names no hour.
func isHourly(expression string) bool {
	fields := strings.Fields(expression)

	return fields[0] == "@hourly" || len(fields) > 1 && strings.HasPrefix(fields[1], "*")
}

// epoch is the same for everybody, so that all nodes come to the same gaps.
func epoch() time.Time { return time.Date(2024, time.January, 1, 0, 0, 0, 0, time.UTC) }

// Next returns the first moment after t that the calendar names.
func (c *Calendar) Next(t time.Time) time.Time {
	next := c.times.Next(t.In(c.zone))
	for !c.hourly && isSecond(next) {
		next = c.times.Next(next)
	}
	if next.IsZero() {
		return next
	}

	return next.UTC()
}

// isSecond reports whether the clock has shown the same before, since it was set back.
func isSecond(t time.Time) bool {
	const longAgo = 3 * time.Hour // no zone sets its clock back by as much
	_, offset := t.Zone()
	_, was := t.Add(-longAgo).Zone()
	back := time.Duration(was-offset) * time.Second
	_, then := t.Add(-back).Zone()

	return back > 0 && then == was
}

// Shortest returns the shortest time between two moments, whole seconds.
func (c *Calendar) Shortest() time.Duration {
	at := c.Next(epoch())
	shortest := maxDuration
	for range sample {
		next := c.Next(at)
		if next.IsZero() {
			break
		}
		at, shortest = next, min(shortest, next.Sub(at))
	}

	return shortest
}

// String names the calendar: other calendars have other names.
func (c *Calendar) String() string {
	if c == nil {
		return ""
	}

	return c.text
}
