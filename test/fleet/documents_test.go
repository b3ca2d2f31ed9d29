package fleet

import (
	"fmt"
	"testing"
	"time"

	"leasehold/test/fleet/check"
)

// effect is how soon a change of a document must have taken effect.
const effect = time.Second

func TestDocumentsTakeEffectAtOnce(t *testing.T) {
	t.Parallel()
	f := newFleet(t, plan{})
	f.putMany(4)
	nodes := f.start("a", "b")
	f.settled(10*time.Second, nodes...)

	f.newOnes()
	f.changedOne()
	f.pausedOne()
	// Leases of documents that come and go may be held for less than a sample's time, and
	// new documents change the plan for others: neither every holder is seen nor every token.
	h := f.history()
	f.pass("safety", check.All(check.Overlaps(h, 40), check.Tokens(h, 40)))
}

func (f *fleet) newOnes() {
	t := f.t
	var after []time.Duration
	for i := range 10 {
		id := fmt.Sprintf("new%d", i)
		at := f.target.Now()
		f.put(id, "")
		after = append(after, f.pollAfter(id, at, effect)-at)
	}
	t.Logf("ten new documents polled after p50 %s, max %s", median(after), most(after))
	if most(after) > effect {
		t.Errorf("polled %s after the document was written", most(after))
	}
}

func (f *fleet) changedOne() {
	t := f.t
	f.put("slow", f.document("slow", `,"interval":"30s"`))
	f.pollAfter("slow", 0, effect)
	holder := f.holders()["slow"]
	wait(1500 * time.Millisecond)

	at := f.target.Now()
	f.put("slow", f.document("slow", `,"interval":"500ms"`))
	first := f.pollAfter("slow", at, effect)
	t.Logf("a shorter interval led to a poll after %s", first-at)

	// The target tells the new address from the old one.
	at = f.target.Now()
	f.put("slow", f.document("moved", `,"interval":"500ms"`))
	f.pollAfter("moved", at, effect)
	wait(3 * time.Second)
	for _, p := range f.target.Records() {
		if p.Session == "slow" && p.From > at+effect {
			t.Errorf("the old address is polled %s after the change", p.From-at)
		}
	}
	h := f.history()
	for i, p := range h.Polls {
		if p.Session == "moved" {
			h.Polls[i].Session = "slow" // one session, two addresses
		}
	}
	f.pass("a change keeps the lease", check.All(
		check.AcquiredOnce(h, []string{"slow"}, check.Window{}, 1),
		check.Steady(h, []string{"slow"}, check.Window{}, 6),
		check.Rhythm(h, []string{"slow"}, check.Window{From: at, To: at + 3*time.Second}, 500*time.Millisecond, 200*time.Millisecond, 5),
	))
	if now := f.holders()["slow"]; now != holder {
		t.Errorf("held by %s, was by %s", now, holder)
	}
	f.del(f.keys.Session("slow"))
}

func (f *fleet) pausedOne() {
	t := f.t
	f.put("p", f.document("p", ""))
	f.pollAfter("p", 0, effect)

	at := f.target.Now()
	f.put("p", f.document("p", `,"paused":true`))
	until(t, effect, "a paused session's lease is released", func() bool { return f.holders()["p"] == "" })
	t.Logf("paused: released after %s", f.target.Now()-at)
	wait(3 * f.plan.interval)
	f.silent("p", at+effect)

	at = f.target.Now()
	f.put("p", f.document("p", `,"paused":false`))
	t.Logf("resumed: polled after %s", f.pollAfter("p", at, effect)-at)

	at = f.target.Now()
	f.del(f.keys.Session("p"))
	until(t, effect, "a deleted session's lease is released", func() bool { return f.holders()["p"] == "" })
	t.Logf("deleted: released after %s", f.target.Now()-at)
	wait(3 * f.plan.interval)
	f.silent("p", at+effect)
	if left := f.keysLike("poll:*p*}p"); len(left) != 0 {
		t.Errorf("its state is left: %v", left)
	}
}

// pollAfter waits for the first poll of the session after the moment, and returns when
// it started.
func (f *fleet) pollAfter(id string, at, limit time.Duration) time.Duration {
	f.t.Helper()
	var from time.Duration
	until(f.t, limit, id+" is polled", func() bool {
		for _, p := range f.target.Records() {
			if p.Session == id && p.From > at {
				from = p.From
				return true
			}
		}
		return false
	})
	return from
}

// silent checks that no poll of the session started after the moment.
func (f *fleet) silent(id string, at time.Duration) {
	f.t.Helper()
	for _, p := range f.target.Records() {
		if p.Session == id && p.From > at {
			f.t.Errorf("%s was polled %s too late", id, p.From-at)
		}
	}
}
