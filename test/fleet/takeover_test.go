package fleet

import (
	"slices"
	"testing"
	"time"

	"leasehold/test/fleet/check"
)

func TestSessionsOfAKilledNodeArePolledAgainInTime(t *testing.T) {
	f := newFleet(t, plan{replica: true})
	ids := f.putMany(30)
	nodes := f.start("a", "b", "c")
	held := f.settled(10*time.Second, nodes...)
	changes := f.watch("set", "expired")
	wait(2 * f.plan.interval)
	victim := nodes[0]
	lost := of(held, victim)

	victim.kill()
	dead := f.target.Now()
	deadlines := f.deadlines(lost)
	bound := f.plan.ttl + f.plan.interval + 200*time.Millisecond
	wait(bound + f.plan.interval)
	end := f.target.Now()

	h := f.history()
	kept := slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return slices.Contains(lost, id) })
	f.pass("takeover", check.All(
		check.Resumed(h, ids, dead, bound, len(ids)),
		check.Gaps(h, kept, check.Window{From: dead, To: end}, f.plan.interval*3/2, 6*len(kept)),
		check.Spread(h, ids, idsOf(nodes[1:]), check.Window{From: dead + bound, To: end}, 1, 10),
	))
	f.safe(200)
	// The survivors' shares grow by ten: the plan may move as many as 1.6 times that.
	if moves := check.LeaseMoves(h, check.Window{From: dead, To: end}); len(moves) > len(lost)*16/10 {
		t.Errorf("%d leases moved when %d had to: %v", len(moves), len(lost), moves)
	}

	late := takeovers(changes(), deadlines)
	if len(late) != len(lost) {
		t.Errorf("%d leases of the dead node were seen to be taken, of %d", len(late), len(lost))
	}
	t.Logf("%d leases taken after their own deadlines: p50 %s, max %s", len(late), median(late), most(late))
	t.Logf("first polls after the kill: %s", firstPolls(h, lost, dead))
}

// deadlines reads when each lease runs out.
func (f *fleet) deadlines(ids []string) map[string]time.Time {
	f.t.Helper()
	deadlines := map[string]time.Time{}
	for _, id := range ids {
		ms, err := f.rdb.PExpireTime(f.t.Context(), f.keys.Lease(id)).Result()
		if err != nil || ms <= 0 {
			f.t.Fatalf("the lease of %s ends at %s: %v", id, ms, err)
		}
		deadlines[f.keys.Lease(id)] = time.UnixMilli(ms.Milliseconds())
	}
	return deadlines
}

// takeovers returns how long after its deadline each lease was taken.
func takeovers(changes []change, deadlines map[string]time.Time) []time.Duration {
	var late []time.Duration
	done := map[string]bool{}
	for _, c := range changes {
		if at, ok := deadlines[c.key]; ok && c.event == "set" && c.at.After(at) && !done[c.key] {
			done[c.key] = true
			late = append(late, c.at.Sub(at))
		}
	}
	return late
}

// firstPolls tells after what time the sessions were polled.
func firstPolls(h check.History, ids []string, after time.Duration) string {
	first := map[string]time.Duration{}
	for _, p := range h.Polls { // in the order of their starts
		if _, ok := first[p.Session]; !ok && p.From > after && slices.Contains(ids, p.Session) {
			first[p.Session] = p.From - after
		}
	}
	var all []time.Duration
	for _, d := range first {
		all = append(all, d)
	}
	return "p50 " + median(all).String() + ", max " + most(all).String()
}

func TestLeasesOfAStoppedNodeAreHandedOverAtOnce(t *testing.T) {
	f := newFleet(t, plan{})
	ids := f.putMany(30)
	nodes := f.start("a", "b", "c")
	held := f.settled(10*time.Second, nodes...)
	changes := f.watch("del", "set")
	w := check.Window{From: f.target.Now()}
	wait(2 * f.plan.interval)
	gone := nodes[0]
	theirs := of(held, gone)

	asked := time.Now()
	if code := gone.term(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	stopped := time.Since(asked)
	for id, holder := range f.holders() {
		if holder == gone.id {
			t.Errorf("the lease of %s is left to the stopped node", id)
		}
	}
	if left := f.keysLike(f.keys.Node(gone.id)); len(left) != 0 {
		t.Errorf("the heartbeat is left: %v", left)
	}
	wait(3 * f.plan.interval)
	w.To = f.target.Now()

	released, handed := f.handovers(changes(), theirs, asked)
	if len(handed) != len(theirs) {
		t.Errorf("%d leases were seen to be handed over, of %d", len(handed), len(theirs))
	}
	t.Logf("%d leases: released %s (max %s) after the signal, taken %s (max %s) after that; exit after %s",
		len(handed), median(released), most(released), median(handed), most(handed), stopped.Round(time.Millisecond))
	if median(handed) > 50*time.Millisecond || most(handed) > 250*time.Millisecond {
		t.Errorf("from release to acquisition: median %s, most %s", median(handed), most(handed))
	}
	h := f.history()
	f.pass("handover", check.All(
		check.Gaps(h, ids, w, f.plan.interval*3/2, 4*len(ids)),
		check.Rhythm(h, ids, w, f.plan.interval, 300*time.Millisecond, 4*len(ids)),
	))
	f.safe(150)
}

// handovers returns, for each session, how long after the moment its lease was
// released, and how long after that it was taken.
func (f *fleet) handovers(changes []change, ids []string, after time.Time) (released, handed []time.Duration) {
	for _, id := range ids {
		about := slices.DeleteFunc(slices.Clone(changes), func(c change) bool {
			return c.key != f.keys.Lease(id) || c.at.Before(after)
		})
		if len(about) < 2 || about[0].event != "del" || about[1].event != "set" {
			f.t.Errorf("%s was not released and taken, but %v", id, about)
			continue
		}
		released = append(released, about[0].at.Sub(after))
		handed = append(handed, about[1].at.Sub(about[0].at))
	}
	return released, handed
}

func TestAThirdNodeGetsItsShareOfTenSessions(t *testing.T) {
	f := newFleet(t, plan{})
	ids := f.putMany(10)
	nodes := f.start("a", "b")
	f.settled(10*time.Second, nodes...)
	w := check.Window{From: f.target.Now()}
	wait(2 * f.plan.interval)
	before := f.holders()

	nodes = append(nodes, f.start("c")...)
	joined := time.Now()
	after := f.settled(2*f.plan.ttl, nodes...)
	t.Logf("shared again %s after it was ready, a second of quiet included", time.Since(joined).Round(time.Millisecond))
	wait(2 * f.plan.interval)
	w.To = f.target.Now()

	if got := loads(after, nodes); !slices.Equal(got, []int{3, 3, 4}) {
		t.Errorf("loads are %v", got)
	}
	moved := 0
	for id, holder := range after {
		if before[id] != holder {
			moved++
		}
	}
	h := f.history()
	moves := check.LeaseMoves(h, w)
	t.Logf("%d sessions moved, in %d moves", moved, len(moves))
	if moved > 5 || len(moves) > 5 {
		t.Errorf("%d sessions moved, in %d moves: %v", moved, len(moves), moves)
	}
	f.pass("join", check.All(
		check.Gaps(h, ids, w, f.plan.interval*3/2, 40),
		check.Rhythm(h, ids, w, f.plan.interval, 300*time.Millisecond, 40),
	))
	f.safe(40)
}
