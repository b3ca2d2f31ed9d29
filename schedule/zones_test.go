package schedule_test

import (
	"archive/zip"
	"fmt"
	"go/build"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"leasehold/schedule"
)

// The year that is looked at.
var (
	newYear  = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)
	yearsEnd = newYear.AddDate(1, 0, 0)
)

// zones returns one zone of each kind: most have another's clock all the year.
func zones(t *testing.T) []*time.Location {
	t.Helper()
	database, err := zip.OpenReader(filepath.Join(build.Default.GOROOT, "lib", "time", "zoneinfo.zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = database.Close() }()
	var kinds []*time.Location
	seen, all := make(map[string]bool), 0
	for _, file := range database.File {
		if strings.HasSuffix(file.Name, "/") {
			continue
		}
		zone, err := time.LoadLocation(file.Name)
		if err != nil {
			t.Fatal(err)
		}
		all++
		var kind strings.Builder
		for at := newYear.AddDate(0, 0, -2); at.Before(yearsEnd.AddDate(0, 0, 2)); {
			_, offset := at.In(zone).Zone()
			_, end := at.In(zone).ZoneBounds()
			fmt.Fprint(&kind, offset, " until ", end.Unix(), ", ")
			if end.IsZero() {
				break
			}
			at = end
		}
		if !seen[kind.String()] {
			seen[kind.String()] = true
			kinds = append(kinds, zone)
		}
	}
	if all < 400 {
		t.Fatalf("only %d zones are known", all)
	}
	return kinds
}

// offsets returns how far ahead of UTC the zone's clock is within the year.
func offsets(zone *time.Location) []time.Duration {
	var all []time.Duration
	for at := newYear.AddDate(0, 0, -2); at.Before(yearsEnd.AddDate(0, 0, 2)); at = at.Add(6 * time.Hour) {
		if o := offset(at, zone); !slices.Contains(all, o) {
			all = append(all, o)
		}
	}
	return all
}

func offset(at time.Time, zone *time.Location) time.Duration {
	_, seconds := at.In(zone).Zone()
	return time.Duration(seconds) * time.Second
}

// shows returns when the zone's clock shows what wall, a moment of UTC, says: the first
// time that it does, and as much later as the clock was set forward where it never does.
func shows(wall time.Time, zone *time.Location, offsets []time.Duration) time.Time {
	var moments []time.Time
	for _, o := range offsets {
		if at := wall.Add(-o); offset(at, zone) == o {
			moments = append(moments, at)
		}
	}
	if len(moments) == 0 { // left out: the clock that was set forward would have shown it
		moments = append(moments, wall.Add(-offset(wall.AddDate(0, 0, -1), zone)))
	}
	return slices.MinFunc(moments, time.Time.Compare)
}

// quiet reports whether the zone's clock runs evenly for days around a day.
func quiet(day time.Time, zone *time.Location) bool {
	_, end := day.AddDate(0, 0, -3).In(zone).ZoneBounds()
	return end.IsZero() || end.After(day.AddDate(0, 0, 3))
}

// daily are expressions that name one moment of each day, and which it is.
func daily() map[string]time.Duration {
	return map[string]time.Duration{
		"0 0 * * *": 0, "30 0 * * *": 30 * time.Minute, "30 1 * * *": 90 * time.Minute,
		"30 2 * * *": 150 * time.Minute, "45 1 * * *": 105 * time.Minute, "59 23 * * *": 24*time.Hour - time.Minute,
	}
}

func TestEachDayOfEachZoneHasOneRun(t *testing.T) {
	for _, zone := range zones(t) {
		offsets := offsets(zone)
		for expression, moment := range daily() {
			c := calendar(t, expression, zone.String())
			for day := newYear; day.Before(yearsEnd); day = day.AddDate(0, 0, 1) {
				if quiet(day, zone) && day.YearDay()%10 != 0 { // looked at would be as right, and slow
					continue
				}
				at := shows(day.AddDate(0, 0, -1).Add(moment), zone, offsets)
				want := shows(day.Add(moment), zone, offsets)
				got := c.Next(at)
				if !got.Equal(want) {
					t.Errorf("%s, %s: after %s comes %s, want %s", zone, expression,
						at.In(zone).Format(time.DateTime), got.In(zone).Format(time.DateTime+" MST"), want.In(zone).Format(time.DateTime+" MST"))
				}
			}
		}
	}
}

// From whatever moment one asks, the answer is the first slot after it: no run is lost
// to a question that was asked within a change.
func TestTheNextSlotIsTheFirstAfterAnyMoment(t *testing.T) {
	for _, zone := range zones(t) {
		for _, expression := range []string{"0 0 * * *", "30 1 * * *", "0 */2 * * *", "*/20 * * * *", "10 0-3 * * *"} {
			c := calendar(t, expression, zone.String())
			for change := newYear; ; {
				_, change = change.In(zone).ZoneBounds()
				if change.IsZero() || change.After(yearsEnd) {
					break
				}
				slots := slotsBetween(t, c, change.Add(-26*time.Hour), change.Add(26*time.Hour))
				for at := change.Add(-4 * time.Hour); at.Before(change.Add(4 * time.Hour)); at = at.Add(7*time.Minute + time.Nanosecond) {
					i, exact := slices.BinarySearchFunc(slots, at, time.Time.Compare)
					if exact {
						i++
					}
					if got := c.Next(at); !got.Equal(slots[i]) {
						t.Errorf("%s, %s: after %s comes %s, not %s", zone, expression, at.In(zone), got.In(zone), slots[i].In(zone))
					}
				}
			}
		}
	}
}

// slotsBetween returns what the calendar names after from, and the first slot after until.
func slotsBetween(t *testing.T, c *schedule.Calendar, from, until time.Time) []time.Time {
	t.Helper()
	var slots []time.Time
	for at := from; !at.After(until); {
		next := c.Next(at)
		if !next.After(at) {
			t.Fatalf("%s: after %s comes %s", c, at, next)
		}
		slots, at = append(slots, next), next
	}
	return slots
}
