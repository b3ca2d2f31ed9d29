package fleet

import (
	"slices"
	"testing"
	"time"

	"leasehold/target"
	"leasehold/test/fleet/check"
)

// Work longer than the interval and the lease is done once at a time, by one owner.
// C25: quartznet/quartznet#1758, celery/celery#5935, go-co-op/gocron#841.
func TestAPollMayOutlastManyTTLs(t *testing.T) {
	long(t)
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
	f.quickAgain(slow, quick, 6)
	w.To = f.target.Now()

	h := f.history()
	all := slices.Concat(ids, []string{slow})
	f.pass("a poll of 2.3 TTL", check.All(
		check.AcquiredOnce(h, all, w, len(all)),
		check.Steady(h, all, w, 40),
		check.Gaps(h, ids, w, f.plan.interval*3/2, 40),
		check.Rhythm(h, ids, w, f.plan.interval, 250*time.Millisecond, 40),
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

// C25 at the default settings: a poll of more than two TTLs.
func TestAPollMayOutlastTheDefaultTTL(t *testing.T) {
	long(t)
	f := newFleet(t, plan{ttl: 30 * time.Second, interval: 10 * time.Second})
	ids := f.putMany(3)
	slow := "slow"
	f.target.Set(slow, target.Behavior{Delay: 70 * time.Second})
	f.put(slow, f.document(slow, `,"timeout":"100s"`))
	nodes := f.start("a", "b")
	f.settled(20*time.Second, nodes...)
	until(t, readyLimit, "the slow poll has begun", func() bool { return f.live(slow) })
	f.target.Set(slow, target.Behavior{})
	w := check.Window{From: f.target.Now()}
	until(t, 80*time.Second, "the slow poll has ended", func() bool { return f.done(slow) == 1 })
	quick := f.target.Now()
	f.quickAgain(slow, quick, 3)
	w.To = f.target.Now()

	h := f.history()
	all := slices.Concat(ids, []string{slow})
	f.pass("a poll of 2.3 default TTLs", check.All(
		check.AcquiredOnce(h, all, w, len(all)), check.Steady(h, all, w, 20),
		check.Gaps(h, ids, w, f.plan.interval*3/2, 20),
		check.Rhythm(h, ids, w, f.plan.interval, time.Second, 20),
	))
	if p := h.Polls[slices.IndexFunc(h.Polls, func(p target.Record) bool { return p.Session == slow })]; p.Status != 200 || p.Gone {
		t.Errorf("the slow poll was cut: %+v", p)
	}
	f.safe(25)
}

// quickAgain checks that a session which has become fast is polled once an interval,
// without making up for what it missed. It takes so many intervals.
func (f *fleet) quickAgain(id string, from time.Duration, intervals int) {
	f.t.Helper()
	w := check.Window{From: from, To: from + time.Duration(intervals)*f.plan.interval}
	f.passes(from, w.To-w.From)
	f.pass("fast again", check.Rhythm(f.history(), []string{id}, w, f.plan.interval, 250*time.Millisecond, intervals-1).Err())
	if n := f.startsIn(id, check.Window{From: from, To: from + 4*time.Second}); n > 5 {
		f.t.Errorf("%d polls in the first 4 s", n)
	}
}

// C25: work so short that every node would find the session free, if that were all
// that keeps them from it.
func TestShortWorkIsDoneOnceAnIntervalInTheWholeFleet(t *testing.T) {
	long(t)
	f := newFleet(t, plan{ttl: 3 * time.Second, interval: 2 * time.Second})
	ids := f.putMany(6)
	for _, id := range ids {
		f.target.Set(id, target.Behavior{Delay: 5 * time.Millisecond})
	}
	var nodes []*node
	for _, name := range []string{"a", "b", "c"} {
		nodes = append(nodes, f.begin(name))
		wait(400 * time.Millisecond)
	}
	for _, n := range nodes {
		n.ready()
	}
	begun := f.target.Now()
	f.passes(begun, 30*time.Second)
	f.settled(f.plan.ttl, nodes...)
	for _, id := range ids {
		if n := f.startsIn(id, check.Window{From: begun, To: begun + 30*time.Second}); n < 14 || n > 16 {
			t.Errorf("%s was polled %d times in 30 s", id, n)
		}
	}
	w := check.Window{From: f.target.Now(), To: f.target.Now()}
	for _, id := range ids { // how soon the first nodes are there is not the question
		w.From = min(w.From, f.pollAfter(id, 0, f.plan.interval))
	}
	f.pass("from the first poll on", check.Rhythm(f.history(), ids, w, f.plan.interval, 300*time.Millisecond, 80).Err())
	f.safe(80)
}
