package fleet

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"leasehold/test/fleet/check"
)

// These trials are faults that other systems had; see the source named with each.

// Events of another logical database are none of ours (spring-data-redis#1612).
func TestEventsOfAnotherDatabaseChangeNothing(t *testing.T) {
	t.Parallel()
	for ours, theirs := range map[int]int{0: 3, 2: 0} {
		t.Run(fmt.Sprintf("fleet in %d, noise in %d", ours, theirs), func(t *testing.T) {
			t.Parallel()
			f := newFleet(t, plan{db: ours, ttl: 3 * time.Second})
			ids := f.putMany(6)
			nodes := f.start("a", "b")
			before := f.settled(10*time.Second, nodes...)
			noise := f.redis.Client(func(o *redis.Options) { o.DB = theirs })
			defer func() { _ = noise.Close() }()

			w := check.Window{From: f.target.Now()}
			for range 16 {
				_, err := noise.TxPipelined(t.Context(), func(p redis.Pipeliner) error {
					for _, key := range []string{f.keys.Lease("s1"), f.keys.Node(nodes[0].id), f.keys.Lease("s99")} {
						p.Set(t.Context(), key, "x", 300*time.Millisecond)
					}
					p.Set(t.Context(), f.keys.Lease("s2"), "x", 0)
					p.Del(t.Context(), f.keys.Lease("s2"))
					return nil
				})
				if err != nil {
					t.Fatal(err)
				}
				wait(500 * time.Millisecond)
			}
			w.To = f.target.Now()
			h := f.history()
			f.pass("no effect", check.All(
				check.AcquiredOnce(h, ids, w, 6), check.Steady(h, ids, w, 40),
				check.Rhythm(h, ids, w, f.plan.interval, 250*time.Millisecond, 40),
				check.Gaps(h, ids, w, f.plan.interval*3/2, 40),
			))
			for id, holder := range f.holders() {
				if before[id] != holder {
					t.Errorf("%s went to %s", id, holder)
				}
			}
			for _, n := range nodes {
				for _, name := range []string{"member.left", "member.expired", "lease.lost", "lease.expired"} {
					if told := n.all(event(name)); len(told) > 0 {
						t.Errorf("%s: %s", n.name, told[0].text)
					}
				}
			}
			if left := f.keysLike("*s99*"); len(left) > 0 {
				t.Errorf("keys of a session that is not: %v", left)
			}
			f.safe(40)
		})
	}
}

// A server may forget its scripts at any time (resque-scheduler#298).
func TestAServerThatForgetsItsScripts(t *testing.T) {
	t.Parallel()
	f := newFleet(t, plan{ttl: 3 * time.Second})
	ids := f.putMany(6)
	nodes := f.start("a", "b")
	f.settled(10*time.Second, nodes...)
	w := check.Window{From: f.target.Now()}
	flush := func(d time.Duration) {
		for until := time.Now().Add(d); time.Now().Before(until); wait(500 * time.Millisecond) {
			if err := f.rdb.ScriptFlush(t.Context()).Err(); err != nil {
				t.Fatal(err)
			}
			for _, id := range ids {
				left := f.rdb.PTTL(t.Context(), f.keys.Lease(id)).Val()
				if least := f.plan.ttl - 2*f.plan.ttl/3 - 500*time.Millisecond; left < least {
					t.Errorf("the lease of %s has %s left, not %s", id, left, least)
				}
			}
		}
	}
	flush(2 * f.plan.ttl)
	w.To = f.target.Now()
	h := f.history()
	f.pass("no effect", check.All(
		check.AcquiredOnce(h, ids, w, 6), check.Steady(h, ids, w, 30),
		check.Gaps(h, ids, w, f.plan.interval*3/2, 30),
	))
	if err := f.rdb.ScriptFlush(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	if code := nodes[0].term(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	f.settled(2*f.plan.ttl, nodes[1])
	f.safe(30)
}

// Leases without expiry must not stay for ever (ShedLock#65, rq#1276).
func TestLeasesWithoutExpiryAreTakenOverInTheEnd(t *testing.T) {
	t.Parallel()
	f := newFleet(t, plan{ttl: 3 * time.Second, env: []string{"LEASEHOLD_RECONCILE_INTERVAL=2s"}})
	ids := f.putMany(8)
	f.set(f.keys.Lease("s1"), "ghost")
	f.set(f.keys.Node("ghost"), "1")
	begun := f.target.Now()
	nodes := f.start("a", "b", "c")
	until(t, 3*f.plan.ttl, "the ghost's lease is taken over", func() bool { return f.holders()["s1"] != "ghost" })
	t.Logf("the ghost's lease was taken over after %s", f.target.Now()-begun)
	held := f.settled(3*f.plan.ttl, nodes...)
	if warned := nodesTold(nodes, func(l line) bool { return l.Level == "warn" && l.Session == "s1" }); warned == 0 {
		t.Error("no warning names s1")
	}

	// A live holder's renewal restores the expiry.
	f.rdb.Persist(t.Context(), f.keys.Lease("s2"))
	at := f.target.Now()
	until(t, f.plan.ttl/3+time.Second, "the expiry is restored", func() bool {
		left := f.rdb.PTTL(t.Context(), f.keys.Lease("s2")).Val()
		return left > 0 && left <= f.plan.ttl
	})
	f.pass("its lease", check.AcquiredOnce(f.history(), []string{"s2"}, check.Window{From: at - time.Second, To: f.target.Now() + 1}, 1).Err())

	// A dead holder's lease is taken over.
	i := slices.IndexFunc(nodes, func(n *node) bool { return n.id == held["s3"] })
	f.rdb.Persist(t.Context(), f.keys.Lease("s3"))
	nodes[i].kill()
	dead := f.target.Now()
	lived := slices.Delete(slices.Clone(nodes), i, i+1)
	f.settled(4*f.plan.ttl, lived...)
	f.pass("takeover", check.Resumed(f.history(), ids, dead, 3*f.plan.ttl+f.plan.interval, len(ids)).Err())
	if left := f.rdb.PTTL(t.Context(), f.keys.Lease("s3")).Val(); left <= 0 {
		t.Errorf("the lease has %s left", left)
	}
	f.safe(60)
}

func nodesTold(nodes []*node, holds func(line) bool) int {
	told := 0
	for _, n := range nodes {
		told += len(n.all(holds))
	}
	return told
}

// Names that differ in their last letter only must not skew the shares
// (tailscale#20828, opentelemetry-operator#2477).
func TestSimilarNamesShareEvenly(t *testing.T) {
	t.Parallel()
	f := newFleet(t, plan{interval: 2 * time.Second})
	f.putMany(30)
	nodes := f.start("node-1", "node-2", "node-3")
	f.settled(10*time.Second, nodes...)
	f.putMany(100)
	before := f.settled(10*time.Second, nodes...)
	nodes = append(nodes, f.start("node-4", "node-5")...)
	after := f.settled(2*f.plan.ttl, nodes...)
	if got := loads(after, nodes); got[0] != 20 || got[4] != 20 {
		t.Errorf("loads are %v", got)
	}
	moved := 0
	for id, holder := range after {
		if before[id] != holder {
			moved++
		}
	}
	t.Logf("%d of 100 sessions moved for two of five nodes", moved)
	if moved > 40*16/10 { // 1.6 times the unavoidable
		t.Errorf("%d sessions moved", moved)
	}
	wait(f.plan.ttl)
	if now := f.holders(); !slices.Equal(of(now, nodes[4]), of(after, nodes[4])) || len(now) != 100 {
		t.Error("sessions move in a settled fleet")
	}
	f.safe(200)
}

// Separators, globs and other letters in IDs are letters (bullmq#2249, quirrel#134).
func TestAnyIDIsPolledByItsName(t *testing.T) {
	t.Parallel()
	f := newFleet(t, plan{ttl: 3 * time.Second})
	ids := []string{
		"a", "a:b", "a:b:c", "node:1", "{x}", "*", "s?", "[ab]", "with space", "%41", "Größe-日本", strings.Repeat("x", 300), "a\nb",
		"{}x", "a/b", `"quoted"`,
	}
	for _, id := range ids {
		f.put(id, "")
	}
	nodes := f.start("a", "b")
	held := f.settled(10*time.Second, nodes...) // it reads poll:lease: + ID
	w := check.Window{From: f.target.Now()}
	wait(4 * f.plan.interval)
	w.To = f.target.Now()
	h := f.history()
	f.pass("every ID", check.All(
		check.Rhythm(h, ids, w, f.plan.interval, 250*time.Millisecond, 3*len(ids)),
		check.Gaps(h, ids, w, f.plan.interval*3/2, 3*len(ids)),
		check.Steady(h, ids, w, 3*len(ids)),
	))
	acquired := map[string]bool{}
	for _, n := range nodes {
		for _, l := range n.all(event("lease.acquired")) {
			acquired[l.Session] = true
		}
	}
	for _, id := range ids {
		if !acquired[id] {
			t.Errorf("no log line has the ID %q", id)
		}
	}

	i := slices.IndexFunc(nodes, func(n *node) bool { return n.id == held["a:b"] })
	nodes[i].kill()
	dead := f.target.Now()
	f.settled(2*f.plan.ttl, nodes[1-i])
	f.del(f.keys.Session("*"))
	gone := f.target.Now()
	wait(3 * f.plan.interval)
	f.pass("takeover", check.Resumed(f.history(), ids, dead, f.plan.ttl+f.plan.interval+200*time.Millisecond, len(ids)).Err())
	f.silent("*", gone+effect)
	others := slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return id == "*" })
	f.pass("the others", check.Gaps(f.history(), others, check.Window{From: gone, To: f.target.Now()},
		f.plan.interval*3/2, 2*len(others)).Err())
	f.safe(100)
}
