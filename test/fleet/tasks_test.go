package fleet

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"leasehold/target"
	"leasehold/test/fleet/check"
)

const lock = 3 * time.Second // of a task: its lease_ttl

// task stores a task whose first run takes so long, and the next ones half a second.
func (f *fleet) task(id string, first time.Duration) {
	f.t.Helper()
	f.target.Set(id, target.Behavior{Delay: first})
	f.put(id, f.document(id, fmt.Sprintf(`,"interval":"10m","misfire":"once","timeout":"1m","lease_ttl":%q`, lock)))
	until(f.t, readyLimit, "the task runs", func() bool { return f.live(id) })
	f.target.Set(id, target.Behavior{Delay: 500 * time.Millisecond})
}

// runs are those of a task so far.
func (f *fleet) runs(id string) []target.Record {
	return slices.DeleteFunc(f.target.Records(), func(p target.Record) bool { return p.Session != id })
}

// again waits until so many runs have ended, and judges the last one.
func (f *fleet) again(id string, ended int, by *node, limit time.Duration) target.Record {
	f.t.Helper()
	until(f.t, limit, "the task has run again", func() bool { return f.done(id) == ended })
	p := f.runs(id)[ended-1]
	if p.Status != http.StatusOK || p.Gone || by != nil && p.Instance != by.id {
		f.t.Errorf("the run that ended is %+v", p)
	}
	return p
}

// A run that died with its node is run again by another one when the lock has ended, and
// not before; the lock was renewed all the while. The tasks of other nodes go on.
func TestACrashedTaskIsRunAgainWhenItsLockEnds(t *testing.T) {
	t.Parallel()
	f := newFleet(t, plan{})
	ids := f.putMany(6)
	nodes := f.start("a", "b", "c")
	f.settled(10*time.Second, nodes...)
	w := check.Window{From: f.target.Now()}
	tasks := []string{"t0", "t1", "t2", "t3"}
	for _, id := range tasks {
		f.task(id, 2*lock+2*time.Second)
	}
	held := f.holders()
	victim := nodes[slices.Index(idsOf(nodes), held[tasks[0]])]
	lost := slices.DeleteFunc(slices.Clone(tasks), func(id string) bool { return held[id] != victim.id })
	f.passes(f.runs(tasks[3])[0].From, 2*lock)
	for _, id := range tasks {
		if !f.live(id) || f.holders()[id] != held[id] || len(f.runs(id)) != 1 {
			t.Fatalf("%s, which %s had, is %s's after two TTLs: %+v", id, held[id], f.holders()[id], f.runs(id))
		}
	}

	victim.kill()
	ends := f.deadlines(lost)
	for _, id := range lost {
		second, end := f.again(id, 2, nil, lock+5*time.Second), ends[f.keys.Lease(id)]
		late := second.Start.Sub(end)
		t.Logf("%s was run again %s after the lock's end", id, late.Round(time.Millisecond))
		if late < 0 || late > 200*time.Millisecond+time.Second || second.Instance == victim.id {
			t.Errorf("%s: run again %s after the lock's end: %+v", id, late, second)
		}
	}
	wait(3 * time.Second) // nobody runs anything a third time
	for _, id := range tasks {
		want := 1
		if slices.Contains(lost, id) {
			want = 2
		}
		f.again(id, want, nil, 0)
	}
	w.To = f.target.Now()
	kept := slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return held[id] == victim.id })
	f.pass("polls meanwhile", check.Gaps(f.history(), kept, w, f.plan.interval*3/2, 5*len(kept)).Err())
	f.safe(40)
}

// A node that is stopped lets a run end by itself within the drain time. What does not
// end in time is canceled and given back, and the next owner runs it again.
func TestAStoppedNodeEndsItsTaskOrGivesItBack(t *testing.T) {
	t.Parallel()
	f := newFleet(t, plan{})
	const id = "t"
	a := f.begin("a", "LEASEHOLD_DRAIN_TIMEOUT=10s")
	a.ready()
	f.task(id, 5*time.Second)
	b := f.begin("b", "LEASEHOLD_DRAIN_TIMEOUT=2s")
	b.ready()
	if code := a.term(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if p := f.again(id, 1, a, 0); p.To-p.From < 5*time.Second {
		t.Errorf("the run was cut: %+v", p)
	}
	f.settled(f.plan.ttl, b)
	wait(2500 * time.Millisecond) // b would have asked by now
	if n := len(f.runs(id)); n != 1 {
		t.Errorf("a run that has ended was run %d times", n)
	}

	f.target.Set(id, target.Behavior{Delay: time.Minute})
	f.worker("anybody", b).must(http.StatusAccepted, "POST", "/sessions/"+id+"/run", "")
	until(t, 2*time.Second+time.Second, "the task runs when it was asked for", func() bool { return f.live(id) })
	f.target.Set(id, target.Behavior{})
	c := f.start("c")[0]
	asked := time.Now()
	if code := b.term(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if took := time.Since(asked); took < 1500*time.Millisecond || took > 3*time.Second {
		t.Errorf("a drain of 2 s, with a run that does not end, took %s", took)
	}
	third := f.again(id, 3, c, 3*time.Second)
	cut := f.runs(id)[1]
	if !cut.Gone || cut.Instance != b.id || third.Token <= cut.Token {
		t.Errorf("%+v follows on %+v", third, cut)
	}
	wait(2 * time.Second) // nobody runs it a fourth time
	if n := len(f.runs(id)); n != 3 {
		t.Errorf("it was run %d times", n)
	}
	f.safe(3)
}
