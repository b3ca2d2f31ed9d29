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
// set back, what is due in some hours of the day is due in the first of two equal ones
// only; what is due in each goes on.
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
	c := &Calendar{text: expression + " " + where.String(), zone: where, times: times, hourly: isHourly(times)}
	if c.Next(epoch()).IsZero() {
		return nil, errors.New("names a moment that never comes")
	}
	return c, nil
}

// isHourly reports whether all hours of the day are named, in whatever words.
func isHourly(times cron.Schedule) bool {
	const all = 1<<24 - 1
	fields, ok := times.(*cron.SpecSchedule)

	return ok && fields.Hour&all == all
}

// epoch is the same for everybody, so that all nodes come to the same gaps.
func epoch() time.Time { return time.Date(2024, time.January, 1, 0, 0, 0, 0, time.UTC) }

// Next returns the first moment after t that the calendar names. The expression is asked
// for each even stretch of the zone's clock alone: of changes its package knows only
// those by an hour that leave midnight be.
func (c *Calendar) Next(t time.Time) time.Time {
	s := c.stretch(t)
	if before := c.stretch(s.start.Add(-1)); t.Before(before.until) {
		s = before
	}
	var next time.Time
	for next.IsZero() || !next.Before(s.start) {
		at, known := c.first(s, t)
		if known && (next.IsZero() || at.Before(next)) {
			next = at
		}
		if at.IsZero() || s.end.IsZero() {
			break
		}
		s = c.stretch(s.end)
	}

	return next
}

// stretch is a time in which a zone's clock runs evenly.
type stretch struct {
	offset     time.Duration // of the clock, ahead of UTC
	start, end time.Time     // zero: there was, there will be no change
	// from and until bound the moments that are named by this clock: not those that the
	// one before it showed, but also those that the next one leaves out.
	from, until time.Time
}

// stretch returns the one that t is in.
func (c *Calendar) stretch(t time.Time) stretch {
	s := stretch{offset: c.offset(t)}
	s.start, s.end = t.In(c.zone).ZoneBounds()
	s.from, s.until = s.start, s.end
	if back := c.offset(s.start.Add(-1)) - s.offset; !c.hourly && back > 0 {
		s.from = s.start.Add(back)
	}
	if !s.end.IsZero() {
		s.until = s.end.Add(max(0, c.offset(s.end)-s.offset))
	}

	return s
}

func (c *Calendar) offset(t time.Time) time.Duration {
	_, seconds := t.In(c.zone).Zone()

	return time.Duration(seconds) * time.Second
}

// first returns the first moment after t that the stretch's clock names, if it does; it
// is zero where that clock would never do so.
func (c *Calendar) first(s stretch, t time.Time) (at time.Time, known bool) {
	if just := s.from.Add(-time.Second); t.Before(just) {
		t = just
	}
	at = c.times.Next(t.UTC().Add(s.offset)) // as if UTC were what the clock shows
	if at.IsZero() {
		return at, false
	}
	at = at.Add(-s.offset)

	return at, s.until.IsZero() || at.Before(s.until)
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
