package fleet

import (
	"context"
	"maps"
	"os"
	"strings"
	"testing"
	"time"

	"leasehold/test/fleet/check"
)

// A server that answers with errors is neither away nor does it say who owns what.
// C07: taskforcesh/bullmq#265, StackExchange.Redis#2518.
func TestABusyServerMovesNothingThatItNeedNot(t *testing.T) {
	long(t)
	f := newErrorFleet(t, "--busy-reply-threshold", "300")
	for range 3 {
		f.short(f.busy)
		f.long(f.busy)
	}
	f.judge()
}

// MISCONF: reading works, writing does not.
func TestAServerThatRefusesWritesEndsLeasesInTime(t *testing.T) {
	long(t)
	dir := t.TempDir()
	f := newErrorFleet(t, "--save", "3600 1", "--dir", dir)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	f.short(f.misconf)
	f.long(f.misconf)
	f.judge()
}

// errorFleet is a fleet whose Redis can answer with errors.
type errorFleet struct {
	*fleet

	ids    []string
	nodes  []*node
	before map[*node]vitals
}

func newErrorFleet(t *testing.T, args ...string) *errorFleet {
	t.Helper()
	f := &errorFleet{fleet: newFleet(t, plan{ttl: 3 * time.Second, server: args})}
	f.ids = f.putMany(8)
	f.nodes = f.start("a", "b")
	f.settled(10*time.Second, f.nodes...)
	wait(f.plan.interval)
	f.before = f.pulse()
	return f
}

// busy keeps Redis in a script until the fault is ended.
func (f *errorFleet) busy() (end func(), reply string) {
	ctx, cancel := context.WithCancel(context.Background())
	runaway := f.redis.Client()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = runaway.Eval(ctx, "while true do end", nil).Err()
	}()
	return func() {
		until(f.t, 5*time.Second, "the script is killed", func() bool {
			err := f.rdb.ScriptKill(f.t.Context()).Err()
			return err == nil || strings.HasPrefix(err.Error(), "NOTBUSY")
		})
		cancel()
		<-done
		_ = runaway.Close()
	}, "BUSY"
}

// misconf has Redis refuse writes since it cannot save: its directory is gone.
func (f *errorFleet) misconf() (end func(), reply string) {
	f.t.Helper()
	ctx := f.t.Context()
	if err := f.rdb.ConfigSet(ctx, "stop-writes-on-bgsave-error", "yes").Err(); err != nil {
		f.t.Fatal(err)
	}
	_ = f.rdb.BgSave(ctx).Err() // it fails, some time
	until(f.t, 5*time.Second, "Redis refuses writes", func() bool {
		err := f.rdb.Set(ctx, "probe", "1", 0).Err()
		return err != nil && strings.HasPrefix(err.Error(), "MISCONF")
	})
	return func() {
		if err := f.rdb.ConfigSet(ctx, "stop-writes-on-bgsave-error", "no").Err(); err != nil {
			f.t.Fatal(err)
		}
	}, "MISCONF"
}

// short holds the fault for half a TTL: nothing moves.
func (f *errorFleet) short(begin func() (func(), string)) {
	f.t.Helper()
	before := f.holders()
	w, began := check.Window{From: f.target.Now()}, time.Now()
	end, _ := begin()
	f.passes(w.From, f.plan.ttl/2)
	end()
	back := f.target.Now()
	f.revived(f.ids, back, f.recovered())
	w.To = f.target.Now()
	if after := f.holders(); !maps.Equal(after, before) {
		f.t.Errorf("half a TTL moved sessions: %v, before %v", after, before)
	}
	if lost := nodesTold(f.nodes, func(l line) bool {
		return l.Time.After(began) && (l.Event == "lease.lost" || l.Event == "lease.expired")
	}); lost > 0 {
		f.t.Errorf("%d leases were given up for half a TTL of errors", lost)
	}
	f.pass("half a TTL", check.AcquiredOnce(f.history(), f.ids, w, len(f.ids)).Err())
}

// long holds the fault for two TTLs: polls end in time, all goes on afterwards, and
// tokens rise by one where a lease has ended.
func (f *errorFleet) long(begin func() (func(), string)) {
	f.t.Helper()
	tokens := f.tokens(f.ids)
	from := f.target.Now()
	end, reply := begin()
	f.passes(from, 2*f.plan.ttl)
	end()
	back := f.target.Now()
	f.t.Logf("%s for 2 TTL: %s", reply, f.quiet(from, back))
	for _, p := range f.target.Records() {
		if p.From > from+f.plan.ttl && p.From < back {
			f.t.Errorf("%s was polled %s after %s began", p.Session, p.From-from, reply)
		}
	}
	f.revived(f.ids, back, f.recovered())
	f.settled(2*f.plan.ttl, f.nodes...)
	f.calm(from, f.target.Now())
	for id, token := range f.tokens(f.ids) {
		// All leases have ended, once; what is given back for balance ends once more.
		ended := 1 + int64(nodesTold(f.nodes, func(l line) bool {
			return l.Event == "lease.released" && l.Session == id && l.Version > tokens[id]
		}))
		if rise := token - tokens[id]; rise != ended || rise > 2 {
			f.t.Errorf("the token of %s rose by %d in an outage of 2 TTL; its lease ended %d times", id, rise, ended)
		}
	}
}

// judge checks what holds over all rounds.
func (f *errorFleet) judge() {
	f.t.Helper()
	f.safe(100)
	f.flat(f.before)
	for _, n := range f.nodes {
		for _, l := range n.all(event("lease.lost")) {
			if !strings.Contains(l.Reason, "missing") { // its TTL was over by then
				f.t.Errorf("an error reply was taken for a loss: %s", l.text)
			}
		}
	}
}

// maxTalk is what a node may log in a second of an outage and of the recovery from it.
const maxTalk = 10

// calm checks how much the nodes logged within any second of a stretch.
func (f *errorFleet) calm(from, to time.Duration) {
	f.t.Helper()
	began := time.Now().Add(from - f.target.Now())
	for _, n := range f.nodes {
		most := n.talk(began, began.Add(to-from))
		f.t.Logf("%s logged at most %d lines a second", n.name, most)
		if most > maxTalk {
			f.t.Errorf("%s logged %d lines within a second", n.name, most)
		}
	}
}
