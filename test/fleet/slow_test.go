package fleet

import (
	"slices"
	"testing"
	"time"

	"leasehold/target"
	"leasehold/test/fleet/check"
)

func TestAPollMayOutlastManyTTLs(t *testing.T) {
	t.Parallel()
	f := newFleet(t, plan{ttl: 3 * time.Second})
	ids := f.putMany(5)
	slow := "slow"
	f.target.Set(slow, target.Behavior{Delay: 7 * time.Second})
	f.put(slow, f.document(slow, `,"timeout":"20s"`))
	nodes := f.start("a", "b")
	f.settled(10*time.Second, nodes...)
	w := check.Window{From: f.target.Now()}
	until(t, 25*time.Second, "two slow polls have ended", func() bool { return f.done(slow) >= 2 })
	f.target.Set(slow, target.Behavior{})
	until(t, 10*time.Second, "the last slow poll has ended", func() bool { return f.done(slow) >= 3 })
	quick := f.target.Now()
	wait(6 * f.plan.interval)
	w.To = f.target.Now()

	h := f.history()
	all := slices.Concat(ids, []string{slow})
	f.pass("a poll of 2.3 TTL", check.All(
		check.AcquiredOnce(h, all, w, len(all)),
		check.Steady(h, all, w, 40),
		check.Gaps(h, ids, w, f.plan.interval*3/2, 40),
		check.Rhythm(h, ids, w, f.plan.interval, 250*time.Millisecond, 40),
		// No burst for the slots that the slow polls covered.
		check.Rhythm(h, []string{slow}, check.Window{From: quick, To: w.To}, f.plan.interval, 250*time.Millisecond, 5),
	))
	for _, p := range h.Polls {
		if p.Session == slow && p.From < quick && !p.Live && (p.Status != 200 || p.Gone) {
			t.Errorf("a slow poll was cut: %+v", p)
		}
	}
	f.safe(40)
}

// done counts the polls of the session that have ended.
func (f *fleet) done(id string) int {
	n := 0
	for _, p := range f.target.Records() {
		if p.Session == id && !p.Live {
			n++
		}
	}
	return n
}
