package fleet

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"leasehold/target"
	"leasehold/test/fleet/check"
)

// These trials are faults that other systems had; see the source named with each.

// Events of another logical database are none of ours. C03: spring-data-redis#1612.
func TestEventsOfAnotherDatabaseChangeNothing(t *testing.T) {
	for ours, theirs := range map[int]int{0: 3, 2: 0} {
		t.Run(fmt.Sprintf("fleet in %d, noise in %d", ours, theirs), func(t *testing.T) {
			long(t)
			f := newFleet(t, plan{db: ours, ttl: 3 * time.Second})
			ids := f.putMany(6)
			nodes := f.start("a", "b")
			before := f.settled(10*time.Second, nodes...)
			settled := time.Now()
			noise := f.redis.Client(func(o *redis.Options) { o.DB = theirs })
			defer func() { _ = noise.Close() }()

			w := check.Window{From: f.target.Now()}
			for range 40 { // 20 s
				_, err := noise.TxPipelined(t.Context(), func(p redis.Pipeliner) error {
					for _, key := range []string{f.keys.Lease("s1"), f.keys.Node(nodes[0].id), f.keys.Lease("s99")} {
						p.Set(t.Context(), key, "x", 300*time.Millisecond)
					}
					for _, key := range []string{f.keys.Lease("s2"), f.keys.Session("s3"), f.keys.Session("s99"), f.keys.Node(nodes[1].id)} {
						p.Set(t.Context(), key, f.document("s99", ""), 0)
						p.Del(t.Context(), key)
					}
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
				for _, name := range []string{
					"member.left", "member.expired", "member.joined", "lease.lost", "lease.expired", "lease.released",
					"session.added", "session.changed", "session.removed",
				} {
					if told := n.all(event(name), func(l line) bool { return l.Time.After(settled) }); len(told) > 0 {
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

// A server may forget its scripts at any time. C10: resque-scheduler#298,
// leandromoreira/redlock-rb#27.
func TestAServerThatForgetsItsScripts(t *testing.T) {
	long(t)
	f := newFleet(t, plan{ttl: 6 * time.Second})
	ids := f.putMany(6)
	nodes := f.start("a", "b")
	f.settled(10*time.Second, nodes...)
	w := check.Window{From: f.target.Now()}
	ended := make(chan struct{})
	var flushing sync.WaitGroup
	flushing.Go(func() { f.forgetScripts(ended) })
	stop := sync.OnceFunc(func() { close(ended); flushing.Wait() })
	defer stop()

	for until := w.From + 3*f.plan.ttl; f.target.Now() < until; wait(100 * time.Millisecond) {
		for _, id := range ids {
			left := f.rdb.PTTL(t.Context(), f.keys.Lease(id)).Val()
			if least := f.plan.ttl - 2*f.plan.ttl/3 - time.Second; left < least {
				t.Errorf("the lease of %s has %s left, not %s", id, left, least)
			}
		}
	}
	w.To = f.target.Now()
	h := f.history()
	f.pass("no effect", check.All(
		check.AcquiredOnce(h, ids, w, 6), check.Steady(h, ids, w, 90),
		check.Rhythm(h, ids, w, f.plan.interval, 250*time.Millisecond, 90),
		check.Gaps(h, ids, w, f.plan.interval*3/2, 90),
	))
	asked := f.target.Now()
	if code := nodes[0].term(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if took := f.target.Now() - asked; took > 2*time.Second {
		t.Errorf("exit after %s", took)
	}
	for _, key := range f.keysLike("poll:*") {
		if held, err := f.rdb.Get(t.Context(), key).Result(); err == nil && (held == nodes[0].id || key == f.keys.Node(nodes[0].id)) {
			t.Errorf("%s is left to the node that has stopped", key)
		}
	}
	f.settled(2*f.plan.ttl, nodes[1])
	stop()
	f.safe(90)
}

// forgetScripts flushes the script cache twice a second, until it is told to end.
func (f *fleet) forgetScripts(ended <-chan struct{}) {
	ticks := time.NewTicker(500 * time.Millisecond)
	defer ticks.Stop()
	for {
		if err := f.rdb.ScriptFlush(context.Background()).Err(); err != nil {
			f.t.Errorf("flush the scripts: %v", err)
		}
		select {
		case <-ended:
			return
		case <-ticks.C:
		}
	}
}

// Leases without expiry must not stay for ever. C11: ShedLock#65, ShedLock#105,
// rq#1276.
func TestLeasesWithoutExpiryAreTakenOverInTheEnd(t *testing.T) {
	t.Parallel()
	f := newFleet(t, plan{ttl: 3 * time.Second, env: []string{"LEASEHOLD_RECONCILE_INTERVAL=2s"}})
	ids := f.putMany(8)
	f.set(f.keys.Lease("s1"), "ghost")
	f.set(f.keys.Node("ghost"), "1")
	if err := f.rdb.HSet(t.Context(), f.keys.State("s1"), "version", 41).Err(); err != nil {
		t.Fatal(err)
	}
	nodes := f.start("a", "b", "c")
	begun := f.target.Now()
	f.takenInTheEnd("s1", "ghost", begun, 42, nodes)
	held := f.settled(3*f.plan.ttl-(f.target.Now()-begun)+time.Second, nodes...)

	// A live holder's renewal restores the expiry.
	f.rdb.Persist(t.Context(), f.keys.Lease("s2"))
	at := f.target.Now()
	until(t, f.plan.ttl/3+time.Second, "the expiry is restored", func() bool {
		left := f.rdb.PTTL(t.Context(), f.keys.Lease("s2")).Val()
		return left > 0 && left <= f.plan.ttl
	})
	f.pass("its lease", check.AcquiredOnce(f.history(), []string{"s2"}, check.Window{From: at - time.Second, To: f.target.Now() + 1}, 1).Err())
	if now := f.holders()["s2"]; now != held["s2"] {
		t.Errorf("s2 went from %s to %s", held["s2"], now)
	}

	// A dead holder's lease is taken over.
	i := slices.IndexFunc(nodes, func(n *node) bool { return n.id == held["s3"] })
	token := f.tokens([]string{"s3"})["s3"]
	f.rdb.Persist(t.Context(), f.keys.Lease("s3"))
	nodes[i].kill()
	dead := f.target.Now()
	lived := slices.Delete(slices.Clone(nodes), i, i+1)
	f.takenInTheEnd("s3", held["s3"], dead, token+1, lived)
	f.settled(4*f.plan.ttl, lived...)
	f.pass("takeover", check.Resumed(f.history(), ids, dead, 3*f.plan.ttl+f.plan.interval, len(ids)).Err())
	f.safe(60)
}

// takenInTheEnd checks that a lease without expiry is left to its holder for a TTL, in
// which that would have renewed it, and is taken over within three.
func (f *fleet) takenInTheEnd(id, holder string, from time.Duration, token int64, nodes []*node) {
	f.t.Helper()
	until(f.t, 3*f.plan.ttl-(f.target.Now()-from), id+" is taken over", func() bool { return f.holders()[id] != holder })
	after := f.target.Now() - from
	f.t.Logf("%s was taken over after %s", id, after.Round(time.Millisecond))
	if after < f.plan.ttl {
		f.t.Errorf("%s was taken over after %s, without a look at what its holder does", id, after)
	}
	until(f.t, 3*f.plan.ttl-(f.target.Now()-from)+f.plan.interval, id+" is polled", func() bool {
		return slices.ContainsFunc(f.target.Records(), func(p target.Record) bool { return p.Session == id && p.From > from+after-effect })
	})
	if got := f.tokens([]string{id})[id]; got != token {
		f.t.Errorf("the token of %s is %d, not %d", id, got, token)
	}
	if !slices.Contains(idsOf(nodes), f.holders()[id]) {
		f.t.Errorf("%s is held by %s", id, f.holders()[id])
	}
	if left := f.rdb.PTTL(f.t.Context(), f.keys.Lease(id)).Val(); left <= 0 || left > f.plan.ttl {
		f.t.Errorf("the lease of %s has %s left", id, left)
	}
	if nodesTold(nodes, func(l line) bool { return l.Level == "warn" && l.Session == id }) == 0 {
		f.t.Errorf("no warning names %s", id)
	}
}

func nodesTold(nodes []*node, holds func(line) bool) int {
	told := 0
	for _, n := range nodes {
		told += len(n.all(holds))
	}
	return told
}

// Names that differ in their last letter only must not skew the shares. C22:
// tailscale#20828, tinode/chat#542, opentelemetry-operator#2477.
func TestSimilarNamesShareEvenly(t *testing.T) {
	t.Parallel()
	t.Run("numbered nodes, and two more", func(t *testing.T) {
		t.Parallel()
		// The reconcile interval is a third of the TTL, as in the defaults: who let a session
		// pass, as a slow newcomer may, gets none for so long.
		f := newFleet(t, plan{ttl: 3 * time.Second, interval: 2 * time.Second, env: []string{"LEASEHOLD_RECONCILE_INTERVAL=1s"}})
		f.putMany(30)
		nodes := f.start("node-1", "node-2", "node-3")
		f.keepShares(nodes)
		ids := f.putMany(100)
		before := f.settled(10*time.Second, nodes...)
		nodes = append(nodes, f.start("node-4", "node-5")...)
		after := f.settled(2*f.plan.ttl+2*time.Second, nodes...) // a second of which is to see that it stays
		went := 0
		for id, holder := range after {
			if before[id] != holder {
				went++
			}
		}
		t.Logf("%d of %d sessions moved for two of five nodes", went, len(ids))
		if went > 40+2 { // the newcomers' share, and two
			t.Errorf("%d sessions moved", went)
		}
		f.keepShares(nodes)
		f.safe(300)
	})
	t.Run("names of one letter", func(t *testing.T) {
		t.Parallel()
		f := newFleet(t, plan{ttl: 3 * time.Second, interval: 2 * time.Second})
		f.putMany(30)
		f.keepShares(f.start("a", "b", "c"))
		f.safe(100)
	})
}

// keepShares checks that the nodes share the sessions evenly within three TTLs, and
// that nothing changes in the two TTLs after that.
func (f *fleet) keepShares(nodes []*node) {
	f.t.Helper()
	held := f.settled(3*f.plan.ttl, nodes...)
	ideal := float64(len(f.known())) / float64(len(nodes))
	for _, n := range loads(held, nodes) {
		if diff := float64(n) - ideal; diff > 1 || diff < -1 {
			f.t.Errorf("a node has %d of %d sessions", n, len(f.known()))
		}
	}
	w := check.Window{From: f.target.Now()}
	wait(2 * f.plan.ttl)
	w.To = f.target.Now()
	h := f.history()
	ids := f.known()
	f.pass("kept", check.All(check.AcquiredOnce(h, ids, w, len(ids)), check.Steady(h, ids, w, len(ids))))
	if now := f.holders(); !maps.Equal(now, held) {
		f.t.Error("sessions move in a settled fleet")
	}
}

// Separators, globs and other letters in IDs are letters. C35: bullmq#2249,
// quirrel#134.
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
	for _, id := range ids {
		if holder := f.rdb.Get(t.Context(), "poll:lease:"+id).Val(); holder != held[id] {
			t.Errorf("the lease of %q is held by %q at its key, not by %q", id, holder, held[id])
		}
	}
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
	if n := f.rdb.Exists(t.Context(), "poll:lease:*").Val(); n != 0 {
		t.Error("the lease of the session that was deleted is left")
	}
	others := slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return id == "*" })
	f.pass("the others", check.Gaps(f.history(), others, check.Window{From: gone, To: f.target.Now()},
		f.plan.interval*3/2, 2*len(others)).Err())
	f.safe(100)
}
