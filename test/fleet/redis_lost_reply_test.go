package fleet

import (
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"leasehold/internal/redistest"
	"leasehold/lease"
	"leasehold/test/fleet/check"
)

// A command takes effect and its reply is lost: the client believes that it did not.
// C13: redis/go-redis#2985. The claim, a renewal, the begin and the end of a poll and
// the release lose theirs, with and without a second node.
func TestALostReplyCostsNeitherLeaseNorToken(t *testing.T) {
	for _, second := range []bool{false, true} {
		t.Run(fmt.Sprintf("second node %v", second), func(t *testing.T) {
			long(t)
			f := newLossyFleet(t, second)
			f.claim()
			f.keeps("renew", "begin", "finish")
			f.release()
		})
	}
}

// lossyFleet has node a behind a proxy, and one session.
type lossyFleet struct {
	*fleet

	proxy  *redistest.Proxy
	a, b   *node
	ids    []string
	second bool
}

func newLossyFleet(t *testing.T, second bool) *lossyFleet {
	t.Helper()
	f := &lossyFleet{fleet: newFleet(t, plan{ttl: 30 * time.Second}), ids: []string{"s1"}, second: second}
	f.proxy = redistest.StartProxy(t, f.redis.Addr())
	// The scripts are known to the server, so that the first claim is carried out.
	for _, name := range []string{"acquire", "renew", "begin", "finish", "release"} {
		if err := f.rdb.ScriptLoad(t.Context(), source(t, name)).Err(); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

// source is a script as the program loads it.
func source(t *testing.T, name string) string {
	t.Helper()
	var text strings.Builder
	for _, file := range []string{"prelude/foreign", name} {
		part, err := os.ReadFile("../../redisstore/scripts/" + file + ".lua")
		if err != nil {
			t.Fatal(err)
		}
		text.Write(part)
	}
	return text.String()
}

// lose has the next reply to the script for the session lost, and returns a function
// that waits until it was.
func (f *lossyFleet) lose(script string) (happened func(limit time.Duration)) {
	f.t.Helper()
	sum := sha1.Sum([]byte(source(f.t, script)))
	lost := f.proxy.LoseReply(`(?s)` + hex.EncodeToString(sum[:]) + `.*poll:lease:s1\r\n`)
	return func(limit time.Duration) {
		f.t.Helper()
		select {
		case <-lost:
		case <-time.After(limit):
			f.t.Fatalf("no reply to %s was lost within %s", script, limit)
		}
	}
}

// claim loses the reply to the first claim: the session is polled all the same, soon.
func (f *lossyFleet) claim() {
	f.t.Helper()
	f.put("s1", "")
	lost := f.lose("acquire")
	f.a = f.begin("a", fmt.Sprintf("LEASEHOLD_REDIS_URL=redis://%s/0", f.proxy.Addr()))
	f.a.ready()
	lost(10 * time.Second)
	if f.second { // the plan may prefer it by when a asks again
		f.b = f.start("b")[0]
	}
	at := f.target.Now()
	bound := f.plan.ttl/3 + 2*time.Second
	until(f.t, bound+time.Second, "the session is polled", func() bool { return len(f.target.Records()) > 0 })
	f.pass("claim", check.Resumed(f.history(), f.ids, at-time.Second, bound+time.Second, 1).Err())
	f.t.Logf("polled %s after the reply to the claim was lost", (f.target.Now() - at).Round(time.Millisecond))
	if f.b != nil {
		f.settled(10*time.Second, f.a, f.b)
	}
}

// keeps loses one reply each to what goes on while the lease is held. The session may
// be b's by the plan; then it is moved to a, whose replies get lost.
func (f *lossyFleet) keeps(scripts ...string) {
	f.t.Helper()
	f.toA()
	for _, script := range scripts {
		w := check.Window{From: f.target.Now()}
		f.lose(script)(f.plan.ttl/3 + 2*time.Second)
		wait(4 * f.plan.interval)
		w.To = f.target.Now()
		h := f.history()
		f.pass("a lost reply to "+script, check.All(
			check.AcquiredOnce(h, f.ids, w, 1), check.Steady(h, f.ids, w, 3),
			check.Rhythm(h, f.ids, w, f.plan.interval, 300*time.Millisecond, 3),
			check.Gaps(h, f.ids, w, f.plan.interval*5/2, 3),
		))
	}
}

// toA sees to it that a has the session: b is told to take none, and stays.
func (f *lossyFleet) toA() {
	f.t.Helper()
	if f.b != nil {
		f.set(f.keys.Cordon(f.b.id), string(lease.Drained))
	}
	until(f.t, 10*time.Second, "a has the session", func() bool { return f.holders()["s1"] == f.a.id })
}

// release loses the reply to the release at the stop.
func (f *lossyFleet) release() {
	f.t.Helper()
	bound := f.plan.ttl/3 + 2*time.Second
	if f.b != nil {
		f.rdb.Del(f.t.Context(), f.keys.Cordon(f.b.id))
		f.b.await(10*time.Second, event("node.uncordoned"))
	}
	lost := f.lose("release")
	stopped := f.target.Now()
	if code := f.a.term(); code != 0 {
		f.t.Errorf("exit code %d", code)
	}
	lost(time.Millisecond)
	f.t.Logf("exit %s after the signal", (f.target.Now() - stopped).Round(time.Millisecond))
	if holder := f.holders()["s1"]; holder == f.a.id {
		left := f.rdb.PTTL(f.t.Context(), f.keys.Lease("s1")).Val()
		f.t.Logf("the lease is left for %s", left)
		if left <= 0 || left > f.plan.ttl {
			f.t.Errorf("the lease of a node that has gone lasts for %s", left)
		}
	}
	if f.b != nil {
		until(f.t, f.plan.ttl+bound, "b has the session", func() bool { return f.holders()["s1"] == f.b.id })
		f.t.Logf("b has it %s after the signal", (f.target.Now() - stopped).Round(time.Millisecond))
		wait(3 * f.plan.interval)
	}
	h := f.history()
	f.safe(10)
	f.pass("idle holders", check.Idle(h, f.ids, check.Window{To: stopped}, bound, 50).Err())
}
