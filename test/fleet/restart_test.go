package fleet

import (
	"strings"
	"testing"
	"time"

	"leasehold/test/fleet/check"
)

func TestRedisComesBackEmpty(t *testing.T) {
	t.Parallel()
	f := newFleet(t, plan{})
	if err := f.rdb.ConfigSet(t.Context(), "notify-keyspace-events", "Kz").Err(); err != nil {
		t.Fatal(err) // as another application might need it
	}
	ids := f.putMany(9)
	nodes := f.start("a", "b", "c")
	f.settled(10*time.Second, nodes...)
	f.flagsSet("Kzgx$E", time.Second)
	wait(f.plan.interval)
	tokens := f.history()

	_ = f.rdb.ShutdownNoSave(t.Context()) // it answers by closing the connection
	f.redis.Stop()
	down := f.target.Now()
	wait(2 * time.Second)
	if err := f.redis.Start(); err != nil {
		t.Fatal(err)
	}
	back := f.target.Now()
	until(t, 5*time.Second, "the documents are set again", func() bool { return f.rdb.Ping(t.Context()).Err() == nil })
	f.putMany(9)

	bound := f.plan.ttl + f.plan.interval + 2*time.Second
	f.flagsSet("Kgx$E", 10*time.Second)
	t.Logf("flags set again %s after the start", f.target.Now()-back)
	wait(back + bound - f.target.Now() + 3*f.plan.interval)
	h := f.history()
	t.Logf("polls after the start: %s", firstPolls(h, ids, back))
	end := f.target.Now()
	f.pass("restart", check.All(
		check.Resumed(h, ids, back, bound, len(ids)),
		check.Gaps(h, ids, check.Window{From: back + bound, To: end}, f.plan.interval*3/2, 2*len(ids)),
		check.Overlaps(h, 50),
		check.Tokens(h, 50),
		check.Owners(h, check.OwnerTolerance, 50),
	))
	f.settled(f.plan.ttl, nodes...)
	f.neverFell(tokens, h)
	for _, p := range h.Polls {
		if p.From > down+200*time.Millisecond && p.From < back {
			t.Errorf("%s was polled %s after Redis had gone", p.Session, p.From-down)
		}
	}
}

// flagsSet waits until Redis announces at least what the flags say.
func (f *fleet) flagsSet(flags string, limit time.Duration) {
	f.t.Helper()
	until(f.t, limit, "the flags "+flags+" are set", func() bool {
		now := f.rdb.ConfigGet(f.t.Context(), "notify-keyspace-events").Val()["notify-keyspace-events"]
		for _, flag := range flags {
			byA := strings.Contains(now, "A") && strings.ContainsRune("gxz$", flag)
			if !byA && !strings.ContainsRune(now, flag) {
				return false
			}
		}
		return true
	})
}

// neverFell checks that each token is higher after than any before, or the same.
func (f *fleet) neverFell(before, after check.History) {
	f.t.Helper()
	top := map[string]check.LeaseSample{}
	for _, s := range before.Leases {
		if s.Token > top[s.Session].Token {
			top[s.Session] = s
		}
	}
	for _, s := range after.Leases {
		if s.Token != 0 && s.At > top[s.Session].At && s.Token < top[s.Session].Token {
			f.t.Errorf("%s: the token fell from %s to %s", s.Session, top[s.Session], s)
		}
	}
}
