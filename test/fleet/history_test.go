package fleet

import (
	"testing"
	"time"

	"leasehold/internal/wiretest"
	"leasehold/rediskey"
	"leasehold/test/fleet/check"
	"leasehold/test/history"
)

// judged is how long a session's history may take to be judged.
const judged = time.Minute

func recorder(t *testing.T) *history.Recorder {
	t.Helper()
	scripts, err := history.ReadScripts("../../redisstore/scripts")
	if err != nil {
		t.Fatal(err)
	}
	return history.NewRecorder(scripts, rediskey.Default())
}

// legal ends the nodes and judges all that passed on their wires.
func (f *fleet) legal(r *history.Recorder, wires []*wiretest.Wire, need int) *history.Report {
	f.t.Helper()
	for _, n := range f.nodes {
		n.kill()
	}
	for _, w := range wires {
		w.Close()
	}
	entries, err := r.History()
	if err != nil {
		f.t.Errorf("what passed on the wires: %v", err)
	}
	report, err := history.Check(entries, judged)
	if err != nil {
		f.t.Errorf("lease operations: %v", err)
	}
	f.t.Logf("%s", report)
	if report.Operations < need {
		f.t.Errorf("not enough evidence: %d operations of %d", report.Operations, need)
	}
	return report
}

// What every node asked of every lease, and what Redis answered, is what one lease with
// a TTL and a token would have answered in some order: whatever else goes wrong.
func TestLeasesAnswerAsOneLeaseWould(t *testing.T) {
	long(t)
	f := newFleet(t, stormy())
	ids := f.putMany(30)
	r := recorder(t)
	s := newStorm(f, seedOf(t), r.Tap, "a", "b", "c", "d")
	wait(2 * f.plan.ttl)
	for end := time.Now().Add(45 * time.Second); time.Now().Before(end); {
		s.round(f.plan.ttl)
	}
	s.rest()
	from := f.target.Now()
	wait(4 * f.plan.interval)
	s.judge(1000)
	w := check.Window{From: from, To: f.target.Now()}
	f.pass("at rest", check.Gaps(f.history(), ids, w, f.plan.interval*2, len(ids)).Err())
	f.legal(r, s.wires, 2000)
}

// The same where Redis dies and comes back with nothing: tokens start from the server's
// time, above all that was before.
func TestLeasesAnswerAsOneLeaseWouldAfterALossOfAllData(t *testing.T) {
	long(t)
	f := newFleet(t, plan{ttl: 2 * time.Second, interval: 500 * time.Millisecond})
	f.putMany(30)
	r := recorder(t)
	s := newStorm(f, 1, r.Tap, "a", "b", "c")
	nodes := s.calm()
	f.settled(10*time.Second, nodes...)
	for range 3 {
		wait(f.plan.ttl)
		from := time.Now()
		f.redis.Kill()
		wait(200 * time.Millisecond)
		if err := f.redis.Start(); err != nil {
			t.Fatal(err)
		}
		r.Wiped(from, time.Now())
		until(t, 5*time.Second, "Redis answers", func() bool { return f.rdb.Ping(t.Context()).Err() == nil })
		f.putMany(30)
		f.settled(6*f.plan.ttl+2*time.Second, nodes...)
	}
	nodes[0].kill()
	f.settled(3*f.plan.ttl, nodes[1:]...)
	s.judge(500)
	f.legal(r, s.wires, 1000)
}
