package fleet

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"leasehold/target"
	"leasehold/test/fleet/check"
)

// A target that never answers, or never ends its answer, costs its own session alone.
// C29: OneUptime/oneuptime#3240, dgtlmoon/changedetection.io#2395, Tencent/WeKnora#3462.
func TestTargetsThatNeverAnswerCostTheirOwnSessionsAlone(t *testing.T) {
	long(t)
	const deadline = 3 * time.Second // the documents' timeout
	f := newFleet(t, plan{interval: 2 * time.Second})
	good := f.putMany(10)
	bad := f.putBad(deadline)
	nodes := f.start("a", "b")
	f.settled(10*time.Second, nodes...)
	before := f.pulse()
	w := check.Window{From: f.target.Now()}
	wait(18 * (deadline + f.plan.interval)) // 90 s
	w.To = f.target.Now()
	h := f.history()
	f.onTime(h, good, w)
	f.endsInTime(bad, deadline, w)
	f.pass("hung", check.All(
		// A failed poll is retried 1 s after its end and then at longer gaps, up to the
		// interval; the poll itself may take the deadline.
		check.Gaps(h, bad, w, deadline+f.plan.interval+time.Second, 10*len(bad)),
		check.AcquiredOnce(h, slices.Concat(good, bad), w, len(good)+len(bad)),
	))
	for _, id := range bad {
		told := nodesTold(nodes, func(l line) bool {
			return l.Event == "poll.failed" && l.Session == id && l.Level == "warn" && l.Error != ""
		})
		if told != 1 {
			t.Errorf("%d warnings of failed polls name %s, not one", told, id)
		}
	}
	f.flat(before)

	for _, id := range bad {
		f.target.Set(id, target.Behavior{})
	}
	mended := f.target.Now()
	f.revived(bad, mended, deadline+f.plan.interval+2*time.Second)
	well := check.Window{From: mended + deadline + f.plan.interval + 2*time.Second, To: f.target.Now()}
	f.pass("mended", check.Gaps(f.history(), bad, well, f.plan.interval*3/2, len(bad)).Err())

	f.stopsWithHungPolls(nodes[0], bad, deadline)
	f.settled(f.plan.ttl, nodes[1])
	f.safe(300)
}

// putBad stores 20 sessions whose target never answers and 5 whose answer never ends.
func (f *fleet) putBad(deadline time.Duration) []string {
	var ids []string
	for i := range 25 {
		id, b := fmt.Sprintf("hung%d", i), target.Behavior{Hang: true}
		if i >= 20 {
			id, b = fmt.Sprintf("trickles%d", i), target.Behavior{Trickle: time.Second}
		}
		f.target.Set(id, b)
		f.put(id, f.document(id, fmt.Sprintf(`,"timeout":%q`, deadline)))
		ids = append(ids, id)
	}
	return ids
}

// onTime checks that all but a twentieth of the polls start within a second of when
// they are due.
func (f *fleet) onTime(h check.History, ids []string, w check.Window) {
	f.t.Helper()
	last := map[string]time.Duration{}
	polls, late := 0, 0
	for _, p := range h.Polls { // in the order of their starts
		if p.From < w.From || p.From >= w.To || !slices.Contains(ids, p.Session) {
			continue
		}
		polls++
		if before, ok := last[p.Session]; ok && p.From-before > f.plan.interval+time.Second {
			late++
		}
		last[p.Session] = p.From
	}
	f.t.Logf("%d of %d good polls are late", late, polls)
	if want := len(ids) * int((w.To-w.From)/f.plan.interval); polls < want*95/100 || late > polls*5/100 {
		f.t.Errorf("%d of %d polls are late; %d were due", late, polls, want)
	}
}

// endsInTime checks that no poll lasts longer than its deadline, a second of noise
// allowed, and that each session is tried again and again.
func (f *fleet) endsInTime(ids []string, deadline time.Duration, w check.Window) {
	f.t.Helper()
	var took []time.Duration
	for _, p := range f.target.Records() {
		if p.From < w.From || p.From >= w.To || p.Live || !slices.Contains(ids, p.Session) {
			continue
		}
		took = append(took, p.To-p.From)
		if d := p.To - p.From; d > deadline+time.Second || !p.Gone {
			f.t.Errorf("a poll of %s was not given up after %s, but took %s", p.Session, deadline, d)
		}
	}
	f.t.Logf("%d polls without end were given up after p50 %s, max %s", len(took), median(took), most(took))
}

// stopsWithHungPolls checks that a node exits while its polls hang.
func (f *fleet) stopsWithHungPolls(n *node, ids []string, deadline time.Duration) {
	f.t.Helper()
	for _, id := range ids {
		f.target.Set(id, target.Behavior{Hang: true})
	}
	until(f.t, readyLimit, "a poll of "+n.name+" hangs", func() bool {
		return slices.ContainsFunc(f.target.Records(), func(p target.Record) bool {
			return p.Live && p.Instance == n.id && slices.Contains(ids, p.Session)
		})
	})
	at := f.target.Now()
	if code := n.term(); code != 0 {
		f.t.Errorf("exit code %d", code)
	}
	took := f.target.Now() - at
	f.t.Logf("exit after %s with polls that hang", took.Round(time.Millisecond))
	if took > deadline+2*time.Second {
		f.t.Errorf("exit after %s, although no poll may last longer than %s", took, deadline)
	}
}
