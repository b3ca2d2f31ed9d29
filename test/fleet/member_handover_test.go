package fleet

import (
	"slices"
	"testing"
	"time"

	"leasehold/target"
	"leasehold/test/fleet/check"
)

// A session that moves while it is polled is polled by its next owner once that poll
// has ended. C23: awslabs/amazon-kinesis-client#265, vmware-archive/vmware-go-kcl#92.
func TestASessionMovesWhenItsPollHasEnded(t *testing.T) {
	long(t)
	f := newFleet(t, plan{ttl: 3 * time.Second, interval: 3 * time.Second})
	ids := f.putMany(10)
	for _, id := range ids {
		f.target.Set(id, target.Behavior{Delay: 2 * time.Second})
		f.put(id, f.document(id, `,"timeout":"5s"`))
	}
	a := f.start("a")[0]
	f.settled(10*time.Second, a)
	before := f.pulse()
	w := check.Window{From: f.target.Now()}
	for range 5 {
		f.pollBegins(a)
		b := f.start("b")[0] // the moves are due in a second, when a's polls are in flight
		f.settled(2*f.plan.ttl, a, b)
		wait(f.plan.interval) // each session is polled by its new node
		f.pollBegins(b)
		stopped := f.target.Now()
		if code := b.term(); code != 0 {
			t.Errorf("exit code %d", code)
		}
		took := (f.target.Now() - stopped).Round(time.Millisecond)
		t.Logf("b has exited after %s", took)
		if took < time.Second {
			t.Errorf("b has not waited for a poll of 2 s that was in flight, but exited after %s", took)
		}
		f.settled(2*f.plan.ttl, a)
		wait(f.plan.interval)
	}
	w.To = f.target.Now()

	h := f.history()
	moves := check.PollMoves(h, w)
	t.Logf("%d moves of %d sessions in %d polls", len(moves), len(ids), len(h.Polls))
	if len(moves) < 5*2*4 {
		t.Errorf("%d moves in 5 rounds of joining and leaving", len(moves))
	}
	for _, m := range moves {
		if m.Taken < m.Left {
			t.Errorf("%s was polled by %s %s before %s had done", m.Session, m.To, m.Left-m.Taken, m.From)
		}
	}
	for _, p := range h.Polls {
		if !p.Live && (p.Status != 200 || p.Gone) {
			t.Errorf("a poll was cut: %+v", p)
		}
	}
	f.pass("rhythm over the moves", check.All(
		check.Rhythm(h, ids, w, f.plan.interval, f.plan.interval/10, 90),
		check.Gaps(h, ids, w, f.plan.interval+time.Second, 90),
	))
	f.flat(before)
	f.safe(90)
}

// pollBegins waits until a poll of the node has just begun.
func (f *fleet) pollBegins(n *node) {
	f.t.Helper()
	until(f.t, readyLimit, "a poll of "+n.name+" begins", func() bool {
		now := f.target.Now()
		return slices.ContainsFunc(f.target.Records(), func(p target.Record) bool {
			return p.Instance == n.id && p.Live && now-p.From < 200*time.Millisecond
		})
	})
}
