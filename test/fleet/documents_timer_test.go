package fleet

import (
	"fmt"
	"testing"
	"time"

	"leasehold/test/fleet/check"
)

// A change of a document reaches the timer that is running, and its removal ends it.
// C27: rcourtman/Pulse#1619, prometheus/prometheus#4812.
func TestADocumentChangesWhileItsTimerRuns(t *testing.T) {
	long(t)
	f := newFleet(t, plan{})
	others := f.putMany(4)
	const id = "edited"
	every := func(seconds int) { f.put(id, f.document(id, fmt.Sprintf(`,"interval":"%ds"`, seconds))) }
	every(30)
	nodes := f.start("a", "b")
	f.settled(10*time.Second, nodes...)
	f.pollAfter(id, 0, effect)
	before := f.pulse()
	w := check.Window{From: f.target.Now()}
	wait(3 * f.plan.interval) // the timer is set for half a minute

	every(2)
	shorter := f.target.Now()
	f.passes(shorter, 10*time.Second)
	f.paced(id, check.Window{From: shorter, To: f.target.Now()}, 2*time.Second)

	every(30)
	longer := f.target.Now()
	f.passes(longer, 25*time.Second)
	if n := f.startsIn(id, check.Window{From: longer, To: longer + 25*time.Second}); n > 1 {
		t.Errorf("%d polls in 25 s at an interval of 30 s", n)
	}

	for _, seconds := range []int{2, 3, 2, 3, 2} {
		every(seconds)
		wait(150 * time.Millisecond)
	}
	edited := f.target.Now()
	f.passes(edited, 10*time.Second)
	n := f.startsIn(id, check.Window{From: edited, To: edited + 10*time.Second})
	t.Logf("%d polls in 10 s after five edits", n)
	if n < 4 || n > 6 {
		t.Errorf("%d polls in 10 s at an interval of 2 s", n)
	}

	f.put(id, f.document("new address", `,"interval":"2s"`))
	moved := f.target.Now()
	f.pollAfter("new address", moved, 2*time.Second+effect)

	f.del(f.keys.Session(id))
	gone := f.target.Now()
	until(t, effect, "the lease of a removed document is released", func() bool { return f.holders()[id] == "" })
	t.Logf("released %s after the removal", f.target.Now()-gone)
	f.passes(gone, 5*time.Second)
	f.silent("new address", gone+effect)
	f.silent(id, moved+effect)
	w.To = gone

	h := f.history()
	for i, p := range h.Polls {
		if p.Session == "new address" {
			h.Polls[i].Session = id // one session, two addresses
		}
	}
	f.pass("the owners", check.All(
		check.AcquiredOnce(h, append(others, id), w, 5), check.Steady(h, append(others, id), w, 150),
	))
	w.To += 5 * time.Second
	f.pass("the others", check.All(
		check.Rhythm(h, others, w, f.plan.interval, 250*time.Millisecond, 150),
		check.Gaps(h, others, w, f.plan.interval*3/2, 150),
	)) // one of them may move when there are four
	f.pass("safety", check.Safety(h, 150))
	f.pass("terms", check.All(check.Acquisitions(h, check.Window{}, 150), check.FailClosed(h, check.OwnerTolerance, 150)))
	f.flat(before)
}

// paced checks that the session is polled at its new interval from a second after the
// change on.
func (f *fleet) paced(id string, w check.Window, interval time.Duration) {
	f.t.Helper()
	f.t.Logf("%s is polled %s after its interval was changed", id, f.pollAfter(id, w.From, interval)-w.From)
	w.From += effect
	h := f.history()
	f.pass("the new pace", check.All(
		check.Rhythm(h, []string{id}, w, interval, 300*time.Millisecond, 3),
		check.Gaps(h, []string{id}, w, interval*3/2, 3),
	))
}

// startsIn counts the polls of the session that start in the window.
func (f *fleet) startsIn(id string, w check.Window) int {
	n := 0
	for _, p := range f.target.Records() {
		if p.Session == id && p.From >= w.From && p.From < w.To {
			n++
		}
	}
	return n
}
