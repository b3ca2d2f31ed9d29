package main

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

	"leasehold/internal/redistest"
	"leasehold/lease"
	"leasehold/rediskey"
	"leasehold/redisstore"
	"leasehold/results"
)

// bench is a Redis with a stream that a store of the fleet writes.
type bench struct {
	t      *testing.T
	client *redis.Client
	store  *redisstore.Store
	ids    []string // of the results in the stream, in order
}

func newBench(t *testing.T) *bench {
	t.Helper()
	client := redistest.StartServer(t).Client()
	t.Cleanup(func() { _ = client.Close() })
	return &bench{t: t, client: client, store: redisstore.New(client, rediskey.Default(), redisstore.Options{Stream: stream})}
}

// poll has a new owner record so many results of the session "s".
func (b *bench) poll(n int) {
	b.t.Helper()
	ctx, slot := b.t.Context(), lease.Slot{Interval: time.Millisecond, Bound: time.Second}
	o := b.store.Acquire(ctx, "n1", []lease.Claim{{Session: "s", TTL: time.Minute}})[0]
	grant := lease.Grant{Session: "s", Holder: "n1", Token: o.Token}
	for range n {
		start, err := b.store.Begin(ctx, grant, slot)
		if err != nil || start.Wait > 0 {
			b.t.Fatal(start, err)
		}
		r := lease.Result{OK: true, Class: "success", Started: start.At, Sequence: start.Sequence, NextDue: start.At}
		m := results.Encode(grant, r)
		r.Event = m.JSON
		if err := b.store.Finish(ctx, grant, r); err != nil {
			b.t.Fatal(err)
		}
		b.ids = append(b.ids, m.ID)
	}
	if err := b.store.Release(ctx, []lease.Release{{Grant: grant}})[0]; err != nil {
		b.t.Fatal(err)
	}
}

// again appends an entry of the stream once more.
func (b *bench) again(entry int) {
	b.t.Helper()
	all := b.client.XRange(b.t.Context(), stream, "-", "+").Val()
	if err := b.client.XAdd(b.t.Context(), &redis.XAddArgs{Stream: stream, Values: all[entry].Values}).Err(); err != nil {
		b.t.Fatal(err)
	}
}

// output is what consumers say.
type output struct {
	mu    sync.Mutex
	lines []string
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.lines = append(o.lines, strings.TrimSpace(string(p)))
	return len(p), nil
}

func (o *output) all() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.lines)
}

// start runs a consumer until the test ends, or stop is called.
func (b *bench) start(name string, out *output) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	c := &consumer{client: b.client, name: name, stale: 300 * time.Millisecond, save: redis.NewScript(saveSource), out: out}
	go func() {
		defer close(done)
		c.work(ctx)
	}()
	stop = func() { cancel(); <-done }
	b.t.Cleanup(stop)
	return stop
}

// handled waits until so many lines are out and nothing is pending.
func (b *bench) handled(out *output, n int) []string {
	b.t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		pending, err := b.client.XPending(b.t.Context(), stream, group).Result()
		if lines := out.all(); err == nil && pending.Count == 0 && len(lines) >= n {
			return lines
		}
		if time.Now().After(deadline) {
			b.t.Fatalf("%v pending (%v) after %q, want %d lines", pending, err, out.all(), n)
		}
	}
}

// newest checks that the hash has the last result of the stream.
func (b *bench) newest() {
	b.t.Helper()
	got := b.client.HGetAll(b.t.Context(), latest+"s").Val()
	if id := fmt.Sprintf("s/%s/%s", got["token"], got["sequence"]); id != b.ids[len(b.ids)-1] {
		b.t.Errorf("kept is %s, the last one was %s", id, b.ids[len(b.ids)-1])
	}
}

func TestOnlyWhatIsNewerIsAccepted(t *testing.T) {
	b, out := newBench(t), &output{}
	b.poll(2)
	b.poll(2)  // under another token
	b.again(3) // twice
	b.again(1) // late, from the owner before
	b.start("c1", out)
	got := b.handled(out, 6)
	var want []string
	for _, id := range b.ids {
		want = append(want, "accepted "+id)
	}
	want = append(want, "refused "+b.ids[3], "refused "+b.ids[1])
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	b.newest()
}

func TestWhatWasReadBeforeARestartIsHandledAfterIt(t *testing.T) {
	b, out := newBench(t), &output{}
	b.poll(150) // more than one batch
	b.crash("c1", 120)
	b.start("c1", out)
	if got := b.handled(out, 150); !slices.Equal(got, prefixed("accepted ", b.ids)) {
		t.Errorf("%d lines, from %q", len(got), got[0])
	}
	b.newest()
}

func TestWhatAnotherLeftBehindIsClaimed(t *testing.T) {
	b, out := newBench(t), &output{}
	b.poll(120)
	b.crash("c2", 110)
	b.start("c1", out)
	got := b.handled(out, 120)
	seen := map[string]bool{}
	for _, line := range got {
		_, id, _ := strings.Cut(line, " ")
		seen[id] = true
	}
	if left := slices.DeleteFunc(slices.Clone(b.ids), func(id string) bool { return seen[id] }); len(left) > 0 {
		t.Errorf("never handled: %q", left)
	}
	b.newest()
}

func TestNothingIsLostWhenConsumersComeAndGoAndRedisForgetsTheGroup(t *testing.T) {
	b, out := newBench(t), &output{}
	for i := range 5 {
		stop := b.start(fmt.Sprint("c", i%2), out)
		b.poll(40)
		stop()
	}
	b.start("c0", out)
	b.handled(out, 200)
	b.newest()

	if err := b.client.XGroupDestroy(t.Context(), stream, group).Err(); err != nil {
		t.Fatal(err)
	}
	b.poll(1)
	for deadline := time.Now().Add(20 * time.Second); !slices.Contains(out.all(), "accepted "+b.ids[200]); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the group was not made anew")
		}
	}
	accepted := map[string]int{}
	for _, line := range out.all() {
		if strings.HasPrefix(line, "accepted ") {
			accepted[line]++
		}
	}
	if most := slices.Max(slices.Collect(maps.Values(accepted))); most > 1 {
		t.Errorf("a result was accepted %d times", most)
	}
}

// crash has a consumer read and never acknowledge.
func (b *bench) crash(name string, n int64) {
	b.t.Helper()
	ctx := b.t.Context()
	if err := b.client.XGroupCreateMkStream(ctx, stream, group, "0").Err(); err != nil {
		b.t.Fatal(err)
	}
	err := b.client.XReadGroup(ctx, &redis.XReadGroupArgs{Group: group, Consumer: name, Streams: []string{stream, ">"}, Count: n}).Err()
	if err != nil {
		b.t.Fatal(err)
	}
}

func prefixed(prefix string, all []string) []string {
	out := make([]string, len(all))
	for i, s := range all {
		out[i] = prefix + s
	}
	return out
}
