package history_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"leasehold/internal/redistest"
	"leasehold/internal/wiretest"
	"leasehold/lease"
	"leasehold/lease/leasetest"
	"leasehold/rediskey"
	"leasehold/redisstore"
	"leasehold/test/history"
)

// bench is a Redis and two stores whose operations are recorded.
type bench struct {
	t        *testing.T
	server   *redistest.Server
	recorder *history.Recorder
	a, b     *redisstore.Store
	wires    []*wiretest.Wire
}

func newBench(t *testing.T) *bench {
	t.Helper()
	scripts, err := history.ReadScripts("../../redisstore/scripts")
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, server: redistest.StartServer(t), recorder: history.NewRecorder(scripts, rediskey.Default())}
	b.a, b.b = b.store(), b.store()
	return b
}

func (b *bench) store() *redisstore.Store {
	b.t.Helper()
	wire := wiretest.Start(b.t, b.server.Addr(), b.recorder.Tap(len(b.wires)))
	b.wires = append(b.wires, wire)
	client, err := redisstore.Open("redis://"+wire.Addr()+"/0", redisstore.OpenOptions{Timeout: time.Second})
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { _ = client.Close() })
	return redisstore.New(client, rediskey.Default(), redisstore.Options{Timeout: time.Second})
}

func (b *bench) acquire(s *redisstore.Store, holder string, ttl time.Duration, sessions ...string) []lease.Outcome {
	b.t.Helper()
	claims := make([]lease.Claim, len(sessions))
	for i, id := range sessions {
		claims[i] = lease.Claim{Session: id, TTL: ttl}
	}
	return s.Acquire(context.Background(), holder, claims)
}

// check returns what was recorded and judged when nothing passes any more.
func (b *bench) check() (*history.Report, error) {
	b.t.Helper()
	for _, w := range b.wires {
		w.Close()
	}
	entries, err := b.recorder.History()
	if err != nil {
		b.t.Fatal(err)
	}
	return history.Check(entries, 10*time.Second)
}

func TestWhatStoresDoIsRecorded(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	b := newBench(t)
	const ttl = 300 * time.Millisecond
	got := b.acquire(b.a, "a", ttl, "s1", "s2")
	grants := []lease.Grant{
		{Session: "s1", Holder: "a", Token: got[0].Token},
		{Session: "s2", Holder: "a", Token: got[1].Token},
	}
	b.acquire(b.b, "b", ttl, "s1", "s2") // refused
	b.a.Renew(ctx, leasetest.Renewals(ttl, grants...))
	slot := lease.Slot{Interval: time.Minute, Bound: time.Second}
	start, err := b.a.Begin(ctx, grants[0], slot)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.a.Finish(ctx, grants[0], lease.Result{Started: start.At, OK: true}); err != nil {
		t.Fatal(err)
	}
	b.a.Release(ctx, []lease.Release{{Grant: grants[0]}, {Grant: grants[0]}})
	b.acquire(b.b, "b", ttl, "s1")
	if _, err := b.a.Begin(ctx, grants[0], slot); err == nil {
		t.Error("a poll may begin without a lease")
	}
	time.Sleep(ttl + 20*time.Millisecond)
	b.a.Renew(ctx, leasetest.Renewals(ttl, grants...)) // missing
	b.acquire(b.b, "b", ttl, "s1", "s2")

	r, err := b.check()
	if err != nil {
		t.Error(err)
	}
	want := map[history.Kind]int{
		history.Acquire: 7, history.Renew: 4, history.Release: 2, history.Verify: 3,
		history.Expire: 7, // of five grants and two renewals
	}
	for kind, n := range want {
		if r.Kinds[kind] != n {
			t.Errorf("%d times %s, want %d", r.Kinds[kind], kind, n)
		}
	}
	if r.Sessions != 2 || r.Unknown != 0 || r.Refused != 2+1+1+2 {
		t.Errorf("%s", r)
	}
}

func TestALeaseThatWasDeletedBehindItsHolderIsSeen(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	b := newBench(t)
	b.acquire(b.a, "a", time.Minute, "s")
	c := b.server.Client()
	defer func() { _ = c.Close() }()
	if err := c.Del(t.Context(), rediskey.Default().Lease("s")).Err(); err != nil {
		t.Fatal(err)
	}
	b.acquire(b.b, "b", time.Minute, "s")
	if _, err := b.check(); err == nil || !strings.Contains(err.Error(), "no lease answers so") {
		t.Errorf("a double grant was accepted: %v", err)
	}
}

func TestAnAnswerThatIsNeverSeenLeavesTheOutcomeOpen(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.acquire(b.a, "a", time.Minute, "warm")
	b.server.Pause()
	lost := b.acquire(b.a, "a", time.Minute, "s")
	b.wires[0].Drop()
	b.server.Continue()
	if lost[0].Err == nil {
		t.Fatal("answered by a stopped server")
	}
	b.acquire(b.b, "b", time.Minute, "s")
	r, err := b.check()
	if err != nil {
		t.Error(err)
	}
	if r.Unknown != 1 {
		t.Errorf("%s", r)
	}
}
