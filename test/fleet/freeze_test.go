package fleet

import (
	"slices"
	"testing"
	"time"

	"leasehold/target"
	"leasehold/test/fleet/check"
)

func TestAFrozenNodeComesBackWithoutItsSessions(t *testing.T) {
	t.Parallel()
	f := newFleet(t, plan{replica: true})
	ids := f.putMany(9)
	nodes := f.start("a", "b", "c")
	held := f.settled(10*time.Second, nodes...)
	wait(f.plan.interval)
	frozen := nodes[0]
	f.freeze(frozen, of(held, frozen), nil)
	f.pass("owner", check.Owners(f.history(), check.OwnerTolerance, 100).Err())
	f.safe(100)
	f.settledAgain(ids, nodes)
}

func TestAPollOfAFrozenNodeIsLeftAlone(t *testing.T) {
	t.Parallel()
	f := newFleet(t, plan{ttl: 3 * time.Second})
	ids := f.putMany(6)
	nodes := f.start("a", "b")
	held := f.settled(10*time.Second, nodes...)
	frozen := nodes[0]
	mine := of(held, frozen)
	open := mine[0]
	f.put(open, f.document(open, `,"timeout":"20s"`))
	wait(effect)
	f.target.Set(open, target.Behavior{Delay: 2 * f.plan.ttl})
	until(t, 3*f.plan.interval, "a poll is held open", func() bool { return f.live(open) })
	f.target.Set(open, target.Behavior{})
	f.freeze(frozen, mine, func(p target.Record, stop time.Duration) bool {
		return p.Session == open && p.Instance == frozen.id && p.From < stop && p.To > stop
	})
	f.settledAgain(ids, nodes)
}

// freeze stops a node for 1.7 TTL, lets it go on, and judges all that happened. A poll
// that was frozen open may be excused from having had the target for itself.
func (f *fleet) freeze(n *node, lost []string, excused func(p target.Record, stop time.Duration) bool) {
	f.t.Helper()
	before := map[string]int64{}
	for _, s := range f.samples() {
		if s.Holder == n.id {
			before[s.Session] = int64(s.Token)
		}
	}
	n.pause()
	stop := f.target.Now()
	wait(f.plan.ttl * 17 / 10)
	n.proceed()
	cont := f.target.Now()
	resumed := time.Now()
	until(f.t, 2*f.plan.ttl, "the node has its share again", func() bool {
		time.Sleep(20 * time.Millisecond)
		return even(f.holders(), len(f.known()), f.nodes)
	})
	f.t.Logf("its share is back after %s", time.Since(resumed).Round(time.Millisecond))
	wait(3 * f.plan.interval)

	h := f.history()
	f.t.Logf("lost sessions polled again after the stop: %s", firstPolls(h, lost, stop))
	f.pass("takeover", check.Resumed(h, lost, stop, f.plan.ttl+f.plan.interval+200*time.Millisecond, len(lost)).Err())
	for _, p := range h.Polls {
		if p.Instance == n.id && p.From > cont && slices.Contains(lost, p.Session) && int64(p.Token) <= before[p.Session] {
			f.t.Errorf("%s was polled %s after the node went on, with the lost token %d", p.Session, p.From-cont, p.Token)
		}
	}
	if excused != nil {
		all := len(h.Polls)
		h.Polls = slices.DeleteFunc(h.Polls, func(p target.Record) bool { return excused(p, stop) })
		if all-len(h.Polls) != 1 {
			f.t.Errorf("%d polls were frozen open, not one", all-len(h.Polls))
		}
		f.pass("safety", check.Safety(h, 30))
	}
}

// settledAgain checks that the fleet has found its rest.
func (f *fleet) settledAgain(ids []string, nodes []*node) {
	f.t.Helper()
	f.settled(f.plan.ttl, nodes...)
	w := check.Window{From: f.target.Now() - 2*f.plan.interval, To: f.target.Now()}
	f.pass("at rest", check.Gaps(f.history(), ids, w, f.plan.interval*3/2, len(ids)).Err())
}

// live reports whether a poll of the session is in flight.
func (f *fleet) live(id string) bool {
	return slices.ContainsFunc(f.target.Records(), func(p target.Record) bool { return p.Session == id && p.Live })
}
