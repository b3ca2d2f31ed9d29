package sim

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"time"

	"leasehold/internal/nodetest"
)

// document is one session document, and how the target treats its session.
type document struct {
	ID        string
	Kind      string
	Interval  time.Duration
	Timeout   time.Duration
	LeaseTTL  time.Duration // zero: the fleet's
	OnFailure string
	Misfire   string // of a task; empty: it is none, or has a calendar
	Calendar  calendar
	Paused    bool
	Broken    bool
	Usual     nodetest.Behavior

	changed time.Time // when it was last written
	edited  bool
	task    bool // it is one, or was
}

// polled says whether a node may poll it.
func (d *document) polled() bool { return !d.Paused && !d.Broken && d.Kind != "external" }

// newDocument draws the i-th document that a scenario makes. It depends on nothing
// else, so that fewer sessions or faults leave the others as they were.
func (s Scenario) newDocument(i int) document {
	rnd := rand.New(rand.NewPCG(s.Seed, uint64(1000+i)))
	d := document{ID: fmt.Sprintf("d%d", i)}
	if rnd.IntN(20) == 0 {
		d.ID += []string{":a:b", "{x}", "}{", " ü", "/..", "%2F"}[rnd.IntN(6)]
	}
	d.redraw(rnd, s.Timings)
	d.Paused, d.Broken, d.edited = false, false, false
	return d
}

// redraw changes all that an edit may change.
func (d *document) redraw(rnd *rand.Rand, t Timings) {
	d.Interval = between(rnd, t.Shortest, t.Longest).D()
	d.Timeout = between(rnd, t.LeaseTTL/6, t.LeaseTTL).D()
	d.LeaseTTL, d.Kind, d.OnFailure = 0, "http", "keep"
	d.Paused, d.Broken = rnd.IntN(5) == 0, rnd.IntN(8) == 0
	switch rnd.IntN(20) {
	case 0:
		d.Kind = "external"
	case 1, 2:
		d.Kind = "log"
	case 3, 4, 5:
		d.OnFailure = "release"
	case 6, 7:
		d.LeaseTTL = (t.LeaseTTL / 2 * Span(1+rnd.IntN(5))).D()
	case 8, 9: // see below
		d.Timeout = 4 * t.LeaseTTL.D()
	}
	// Polls take their time, else none would ever be in flight when trouble comes.
	most := min(d.Interval, d.Timeout)
	u := rnd.Float64()
	d.Usual = nodetest.Behavior{Delay: Span(u * u * u * float64(most)).round().D()}
	switch {
	case d.Timeout > t.LeaseTTL.D(): // polls that outlast terms
		d.Usual.Delay = between(rnd, t.LeaseTTL/2, 3*t.LeaseTTL).D()
	case rnd.IntN(30) == 0:
		d.Usual.Delay = d.Timeout * 9 / 10
	}
	d.Misfire, d.Calendar = "", calendar{}
	switch n := rnd.IntN(30); { // few, since each owner of one asks every two seconds
	case t.Profile == sparse: // whose hours would all go into that
	case n == 0:
		d.Misfire = "once"
	case n == 2:
		d.Misfire = "skip"
	case n == 1:
		d.Calendar = drawCalendar(rnd, t)
		d.Misfire = []string{"", "once", "skip"}[rnd.IntN(3)]
		d.Interval = d.Calendar.period()
	}
	if d.isTask() {
		d.Usual.Delay = max(d.Usual.Delay, most/3)
	}
	d.edited, d.task = true, d.task || d.isTask()
}

// isTask says whether it is one now.
func (d *document) isTask() bool { return d.Misfire != "" || d.Calendar.every > 0 }

// text is what is stored.
func (d *document) text() string {
	if d.Broken {
		return "{" + d.ID
	}
	doc := map[string]any{
		"url": "http://192.0.2.1/", "kind": d.Kind,
		"timeout": d.Timeout.String(), "on_failure": d.OnFailure, "paused": d.Paused,
	}
	if d.Calendar.every > 0 {
		doc["cron"], doc["timezone"] = d.Calendar.expression(), d.Calendar.zone
	} else {
		doc["interval"] = d.Interval.String()
	}
	if d.LeaseTTL > 0 {
		doc["lease_ttl"] = d.LeaseTTL.String()
	}
	if d.Misfire != "" {
		doc["misfire"] = d.Misfire
	}
	b, err := json.Marshal(doc)
	if err != nil {
		panic(err) // plain data
	}
	return string(b)
}
