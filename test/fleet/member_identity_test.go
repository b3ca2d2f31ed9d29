package fleet

import (
	"strings"
	"testing"
	"time"

	"leasehold/test/fleet/check"
)

// Two processes with one name are two members: the ID is new at every start. C20:
// kubernetes/kubernetes#61151, metallb/metallb#140.
func TestTwoProcessesWithOneNameAreTwoMembers(t *testing.T) {
	long(t)
	f := newFleet(t, plan{ttl: 3 * time.Second})
	ids := f.putMany(6)
	first := f.start("node-1")[0]
	f.settled(10*time.Second, first)
	w := check.Window{From: f.target.Now()}

	second := f.start("node-1")[0]
	for _, n := range []*node{first, second} {
		if !strings.HasPrefix(n.id, "node-1-") {
			t.Errorf("a process named node-1 calls itself %s", n.id)
		}
	}
	if first.id == second.id {
		t.Fatalf("both are %s", first.id)
	}
	held := f.settled(2*f.plan.ttl, first, second)
	before := f.pulse()
	wait(3 * f.plan.ttl)
	w.To = f.target.Now()
	if now := f.holders(); len(of(now, first)) != 3 || len(of(now, second)) != 3 {
		t.Errorf("the shares are not kept: %v", now)
	}
	f.pass("two of one name", check.All(
		check.Rhythm(f.history(), ids, w, f.plan.interval, 300*time.Millisecond, 60),
		check.Gaps(f.history(), ids, w, f.plan.interval*3/2, 60),
	))
	f.flat(before)

	tokens := f.tokens(ids)
	theirs := of(held, first)
	first.kill()
	dead := f.target.Now()
	third := f.start("node-1")[0]
	if third.id == first.id || third.id == second.id {
		t.Fatalf("a new process is %s again", third.id)
	}
	f.revived(theirs, dead, f.recovered())
	f.settled(2*f.plan.ttl, second, third)
	// The dead process' leases were taken, not gone on with. The next owner may have
	// handed a session on for balance: each acquisition has a token of its own.
	acquired := 0
	for id, token := range f.tokens(ids) {
		if holder := f.holders()[id]; holder != held[id] && token <= tokens[id] {
			t.Errorf("%s went to %s with token %d, which was %d", id, holder, token, tokens[id])
		}
		if f.holders()[id] == third.id {
			acquired++
		}
	}
	if acquired != 3 {
		t.Errorf("the new process has %d sessions", acquired)
	}
	for _, p := range f.target.Records() {
		if p.Instance == third.id && int64(p.Token) <= tokens[p.Session] {
			t.Errorf("the new process polled %s with the old token %d", p.Session, p.Token)
		}
	}
	f.safe(90)
}

// tokens reads the token of each session from Redis.
func (f *fleet) tokens(ids []string) map[string]int64 {
	f.t.Helper()
	tokens := make(map[string]int64, len(ids))
	for _, id := range ids {
		n, err := f.rdb.HGet(f.t.Context(), f.keys.State(id), "version").Int64()
		if err != nil {
			f.t.Fatalf("the token of %s: %v", id, err)
		}
		tokens[id] = n
	}
	return tokens
}
