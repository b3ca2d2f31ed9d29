package sim

import (
	"fmt"
	"math/rand/v2"
	"time"
	_ "time/tzdata" // the zones, also where the system has none
)

// calendar is a cron expression whose slots the judge reckons by itself: minutes that
// leave the same rest by the clock on the wall of a zone that does not change meanwhile.
type calendar struct {
	every int // minutes, a divisor of 60; zero: there is no calendar
	rest  int
	zone  string
}

// zones are those of calendars, with their offsets in minutes in the winter of which the
// simulated time is.
func zones() map[string]int {
	return map[string]int{"": 0, "Asia/Kolkata": 5*60 + 30, "America/St_Johns": -(3*60 + 30), "Asia/Kathmandu": 5*60 + 45}
}

// drawCalendar draws one that is due about as often as others of the profile.
func drawCalendar(rnd *rand.Rand, t Timings) calendar {
	c := calendar{every: 1 + rnd.IntN(3), zone: []string{"", "Asia/Kolkata", "America/St_Johns", "Asia/Kathmandu"}[rnd.IntN(4)]}
	if c.every > 1 && t.Profile == normal {
		c.every++ // of minutes, 4 and not 3: the zones' offsets have a rest then
	}
	for 60%c.every != 0 {
		c.every--
	}
	c.rest = rnd.IntN(c.every)
	return c
}

// period is the time between two slots.
func (c calendar) period() time.Duration { return time.Duration(c.every) * time.Minute }

// expression is what the document says.
func (c calendar) expression() string {
	if c.every == 1 {
		return "* * * * *"
	}
	return fmt.Sprintf("%d-59/%d * * * *", c.rest, c.every)
}

// next is the first slot after a moment.
func (c calendar) next(after time.Time) time.Time {
	at := after.Truncate(time.Minute).Add(time.Minute)
	for !c.has(at) {
		at = at.Add(time.Minute)
	}
	return at
}

// has reports whether a moment is a slot.
func (c calendar) has(at time.Time) bool {
	minutes := at.Unix()/60 + int64(zones()[c.zone])
	return at.Equal(at.Truncate(time.Minute)) && minutes%int64(c.every) == int64(c.rest)
}
