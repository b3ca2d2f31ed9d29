package fleet

import (
	"slices"
	"strings"
	"testing"
	"time"

	"leasehold/test/fleet/check"
)

func TestThreeNodesShareNineSessionsAndPollEachOnceAnInterval(t *testing.T) {
	f := newFleet(t, plan{})
	ids := f.putMany(9)
	nodes := f.start("a", "b", "c")
	held := f.settled(10*time.Second, nodes...)
	if got := loads(held, nodes); !slices.Equal(got, []int{3, 3, 3}) {
		t.Errorf("loads are %v", got)
	}

	w := check.Window{From: f.target.Now()}
	wait(11 * f.plan.interval)
	w.To = f.target.Now()
	h := f.history()
	f.pass("steady state", check.All(
		check.Rhythm(h, ids, w, f.plan.interval, 250*time.Millisecond, 9*10),
		check.Gaps(h, ids, w, f.plan.interval*3/2, 9*10),
		check.Steady(h, ids, w, 9*10),
		check.AcquiredOnce(h, ids, w, 9),
		check.Spread(h, ids, idsOf(nodes), w, 0, 50),
	))
	f.safe(9 * 10)
	t.Logf("%d polls in %s", len(h.Polls), w.To-w.From)
}

func TestFiveNodesAtOnceAcquireEachOfTenSessionsOnce(t *testing.T) {
	f := newFleet(t, plan{})
	ids := f.putMany(10)
	changes := f.watch("set", "del", "expired")
	nodes := f.start("n1", "n2", "n3", "n4", "n5")
	begun := time.Now()
	held := f.settled(10*time.Second, nodes...)
	t.Logf("shared %s after all were ready, a second of quiet included", time.Since(begun).Round(time.Millisecond))
	if got := loads(held, nodes); !slices.Equal(got, []int{2, 2, 2, 2, 2}) {
		t.Errorf("loads are %v", got)
	}
	wait(3 * time.Second)

	taken := map[string]int{}
	for _, c := range changes() {
		if id, ok := strings.CutPrefix(c.key, f.keys.Lease("")); ok {
			taken[id+" "+c.event]++
		}
	}
	for _, id := range ids {
		if taken[id+" set"] != 1 || taken[id+" del"]+taken[id+" expired"] != 0 {
			t.Errorf("lease of %s: taken %d times, released %d, expired %d", id,
				taken[id+" set"], taken[id+" del"], taken[id+" expired"])
		}
	}
	h := f.history()
	f.pass("one acquisition", check.All(
		check.AcquiredOnce(h, ids, check.Window{}, 10), check.Steady(h, ids, check.Window{}, 30),
	))
	f.safe(30)
}

func TestTenNodesShareAHundredSessions(t *testing.T) {
	f := newFleet(t, plan{interval: 2 * time.Second})
	ids := f.putMany(100)
	nodes := f.start("n0", "n1", "n2", "n3", "n4", "n5", "n6", "n7", "n8", "n9")
	held := f.settled(15*time.Second, nodes...)
	if got := loads(held, nodes); got[0] != 10 || got[9] != 10 {
		t.Errorf("loads are %v", got)
	}
	w := check.Window{From: f.target.Now()}
	wait(3 * f.plan.interval)
	w.To = f.target.Now()
	h := f.history()
	f.pass("ten nodes", check.All(
		check.Gaps(h, ids, w, f.plan.interval*3/2, 200),
		check.Rhythm(h, ids, w, f.plan.interval, 500*time.Millisecond, 200),
		check.Steady(h, ids, w, 200),
		check.Spread(h, ids, idsOf(nodes), w, 0, 30),
	))
	f.safe(200)
}
