package cli_test

import (
	"strings"
	"testing"
	"time"

	"leasehold/lease"
)

// cordon is what Redis has of what is wanted of an instance.
func (b *bench) cordon(instance string) string {
	return b.rdb.Get(b.t.Context(), b.keys.Cordon(instance)).Val()
}

func TestNodesAreCordonedAndUncordoned(t *testing.T) {
	b := newBench(t)
	first, second := b.node("a"), b.node("ab")
	if got := b.ok("nodes", "cordon", "a"); got != first+" cordoned\n" || b.cordon(first) != "cordoned" || b.cordon(second) != "" {
		t.Errorf("%q; %q, %q", got, b.cordon(first), b.cordon(second))
	}
	if got := b.ok("nodes", "cordon", first, "ab", "a"); got != first+" unchanged\n"+second+" cordoned\n" {
		t.Errorf("%q", got)
	}
	if got := b.ok("nodes", "drain", "a", "--wait=false"); got != first+" is to be drained\n" || b.cordon(first) != "drained" {
		t.Errorf("%q; %q", got, b.cordon(first))
	}
	if got := b.ok("nodes", "uncordon", "a", "ab"); got != first+" uncordoned\n"+second+" uncordoned\n" || b.cordon(first)+b.cordon(second) != "" {
		t.Errorf("%q; %q, %q", got, b.cordon(first), b.cordon(second))
	}
	if got := b.ok("nodes", "uncordon", "a"); got != first+" unchanged\n" {
		t.Errorf("%q", got)
	}
}

func TestACordonIsForTheNodeThatIsMeant(t *testing.T) {
	b := newBench(t)
	other := b.node("b1")
	for _, command := range []string{"cordon", "uncordon", "drain"} {
		b.fails(1, "(--force", "nodes", command, "gone-1764288000123456789-0000000a")
		b.fails(1, "", "nodes", command, other, "nobody") // all or none
		b.fails(2, "at least 1 arg", "nodes", command)
	}
	if keys := b.rdb.Keys(t.Context(), "poll:cordon:*").Val(); len(keys) != 0 {
		t.Errorf("%v", keys)
	}
	gone := "gone-1764288000123456789-0000000a"
	b.ok("nodes", "cordon", gone, "--force")
	if left := b.rdb.PTTL(t.Context(), b.keys.Cordon(gone)).Val(); b.cordon(gone) != "cordoned" || left <= 0 || left > lease.CordonTTL {
		t.Errorf("%q for %s", b.cordon(gone), left)
	}
	b.ok("nodes", "uncordon", gone, "--force")
	if b.cordon(gone) != "" {
		t.Error("it is still there")
	}
	b.fails(1, `no node "gone" is alive`, "nodes", "cordon", "gone", "--force")
}

func TestADrainWaitsForWhatOthersCanTake(t *testing.T) {
	b := newBench(t)
	first, second := b.node("a"), b.node("b")
	b.sessions("s1", "s2", "s3")
	b.put("paused", `{"kind":"log","paused":true}`) // nobody takes it
	grants := b.lease(first, "s1", "s2", "paused")
	b.lease(second, "s3")
	got := b.run("nodes", "drain", "a", "--timeout", "1ms")
	if got.code != 1 || !strings.Contains(got.stderr, first+" has 2 sessions to give up") || got.stdout != "" || b.cordon(first) != "drained" {
		t.Errorf("%+v", got)
	}
	b.fails(2, "must not be negative", "nodes", "drain", "a", "--timeout", "-1s")
	done := make(chan reply, 1)
	go func() { done <- b.run("nodes", "drain", "a", "--timeout", "1m") }()
	time.Sleep(300 * time.Millisecond) // it has looked, and waits
	for _, g := range grants[:2] {
		if err := b.store.Release(t.Context(), []lease.Release{{Grant: g}})[0]; err != nil {
			t.Fatal(err)
		}
		b.lease(second, g.Session)
	}
	if got := <-done; got.code != 0 || got.stdout != first+" drained\n" {
		t.Errorf("%+v", got)
	}
	// With the other one full, or drained too, the rest stays where it is: who would
	// stop the node next must not go on.
	got = b.run("nodes", "drain", "b", "a", "--timeout", "1m")
	if got.code != 1 || got.stdout != first+" drained\n" || !strings.Contains(got.stderr, second+" is not drained: it is cordoned, and keeps 3 sessions that no other node takes") {
		t.Errorf("%+v", got)
	}
}

// draining drains a node in the background, from when that is known on.
func (b *bench) draining(id string) <-chan reply {
	done := make(chan reply, 1)
	go func() { done <- b.run("nodes", "drain", id, "--timeout", "1m") }()
	for b.cordon(id) == "" {
		time.Sleep(10 * time.Millisecond)
	}
	return done
}

func TestADrainEndsWhenItIsTakenBackOrTheNodeGoes(t *testing.T) {
	b := newBench(t)
	first := b.node("a")
	b.node("b")
	b.sessions("s1")
	b.lease(first, "s1")
	done := b.draining(first)
	time.Sleep(300 * time.Millisecond)
	b.rdb.Del(t.Context(), b.keys.Cordon(first))
	if got := <-done; got.code != 1 || !strings.Contains(got.stderr, first+" is to be drained no more") {
		t.Errorf("%+v", got)
	}
	done = b.draining(first)
	// It is stopped meanwhile, and dies before its last poll has ended.
	if err := b.store.Publish(t.Context(), lease.Card{Instance: first, Leaving: true}, time.Minute); err != nil {
		t.Fatal(err)
	}
	b.rdb.Del(t.Context(), b.keys.Node(first))
	time.Sleep(1500 * time.Millisecond)
	b.rdb.Del(t.Context(), b.keys.Card(first))
	time.Sleep(1500 * time.Millisecond) // it is gone, and its lease is not
	select {
	case got := <-done:
		t.Errorf("it did not wait for the lease: %+v", got)
	default:
	}
	b.rdb.Del(t.Context(), b.keys.Lease("s1"))
	got := <-done
	told := strings.Index(got.stderr, first+" is stopping, and has 1 polls to wait for")
	if got.code != 0 || told < 0 || strings.Index(got.stderr, first+" is gone, and 1 of its leases run out") < told {
		t.Errorf("%+v", got)
	}
}

func TestADrainIsNotOverSinceRedisForgotTheNode(t *testing.T) {
	b := newBench(t)
	first := b.node("a")
	b.node("b")
	b.sessions("s1")
	b.lease(first, "s1")
	done := b.draining(first)
	time.Sleep(300 * time.Millisecond)
	b.rdb.FlushAll(t.Context())
	time.Sleep(2500 * time.Millisecond) // it looks meanwhile
	b.rdb.Set(t.Context(), b.keys.Node(first), "1", time.Minute)
	if got := <-done; got.code != 1 || got.stdout != "" || !strings.Contains(got.stderr, first+" is to be drained no more") {
		t.Errorf("%+v", got)
	}
}
