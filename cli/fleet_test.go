package cli_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"leasehold/lease"
	"leasehold/lease/leasetest"
)

type nodeReply struct {
	InstanceID string    `json:"instance_id"`
	ExpiresAt  time.Time `json:"expires_at"`
	TTL        int64     `json:"ttl_ms"`
	Leases     int       `json:"leases"`
	Share      int       `json:"share"`
}

type leaseReply struct {
	SessionID string     `json:"session_id"`
	HolderID  string     `json:"holder_id"`
	Version   int64      `json:"version"`
	HeldSince *time.Time `json:"held_since"`
	ExpiresAt *time.Time `json:"expires_at"`
	TTL       *int64     `json:"ttl_ms"`
}

func (b *bench) sessions(ids ...string) {
	b.t.Helper()
	for _, id := range ids {
		b.put(id, `{"kind":"log"}`)
	}
}

func TestNodesAreListed(t *testing.T) {
	b := newBench(t)
	if all := list[nodeReply](b, "nodes", "ls"); len(all) != 0 {
		t.Errorf("%v", all)
	}
	second, first := b.node("b"), b.node("a")
	b.sessions("s1", "s2", "s3", "s4", "s5")
	b.lease(first, "s1", "s2", "s3", "s4")
	b.put("paused", `{"kind":"log","paused":true}`)
	all := list[nodeReply](b, "nodes", "ls")
	if len(all) != 2 || all[0].InstanceID != first || all[0].Leases != 4 || all[0].Share != 3 ||
		all[1].InstanceID != second || all[1].Leases != 0 || all[1].Share != 2 {
		t.Fatalf("%+v", all)
	}
	for _, n := range all {
		left := b.rdb.PTTL(t.Context(), b.keys.Node(n.InstanceID)).Val()
		if got := time.Duration(n.TTL) * time.Millisecond; got < left || got > left+10*time.Second {
			t.Errorf("%s: %s, and %s is left", n.InstanceID, got, left)
		}
	}
	if got := one[nodeReply](b, "nodes", "get", "a-"); got.InstanceID != first || got.Leases != 4 {
		t.Errorf("%+v", got)
	}
	b.node("a2")
	if got := one[nodeReply](b, "nodes", "get", "a"); got.InstanceID != first {
		t.Errorf("%+v", got) // a name goes before the beginning of one
	}
	b.node("cc1")
	b.node("cc2")
	table := b.ok("nodes", "ls", "--sort-by", "leases", "--no-headers")
	if lines := strings.Split(strings.TrimSpace(table), "\n"); len(lines) != 5 || !strings.HasPrefix(lines[4], first+"    4 ") {
		t.Errorf("%s", table)
	}
}

func TestLeasesAreListedAsRedisHasThem(t *testing.T) {
	b := newBench(t)
	b.sessions("s1")
	holder := b.node("a")
	b.lease(holder, "s1", "no-document")
	b.lease("worker-1", "s\n2")
	b.lease("lost-1764288000123456789-0000000a", "forever")
	b.rdb.Persist(t.Context(), b.keys.Lease("forever"))
	b.rdb.HSet(t.Context(), b.keys.Lease("hash"), "a", "b")
	all := list[leaseReply](b, "leases", "ls")
	var ids []string
	for _, l := range all {
		ids = append(ids, l.SessionID)
		if got := b.rdb.Get(t.Context(), b.keys.Lease(l.SessionID)).Val(); got != l.HolderID {
			t.Errorf("%s: holder %s, want %s", l.SessionID, l.HolderID, got)
		}
		state := b.rdb.HGetAll(t.Context(), b.keys.State(l.SessionID)).Val()
		if strconv.FormatInt(l.Version, 10) != state["version"] || l.HeldSince == nil || strconv.FormatInt(l.HeldSince.UnixMilli(), 10) != state["since"] {
			t.Errorf("%s: %+v, want %v", l.SessionID, l, state)
		}
		left := b.rdb.PTTL(t.Context(), b.keys.Lease(l.SessionID)).Val()
		if (l.TTL == nil) != (left == lease.NoExpiry) || (l.ExpiresAt == nil) != (l.TTL == nil) ||
			l.TTL != nil && (time.Duration(*l.TTL)*time.Millisecond < left || time.Duration(*l.TTL)*time.Millisecond > left+10*time.Second) {
			t.Errorf("%s: TTL %v, and %s is left", l.SessionID, l.TTL, left)
		}
	}
	if want := []string{"forever", "no-document", "s\n2", "s1"}; !slices.Equal(ids, want) {
		t.Errorf("%q, want %q", ids, want)
	}
	if got := one[leaseReply](b, "leases", "get", "s1"); got.HolderID != holder {
		t.Errorf("%+v", got)
	}
	b.fails(1, "nobody has the lease of session nope", "leases", "get", "nope")
	b.fails(1, "foreign type", "leases", "get", "hash")
	if got := b.ok("leases", "ls", "-o", "name"); !strings.Contains(got, `s\n2`+"\n") {
		t.Errorf("%q", got)
	}
}

func TestALeaseIsReleasedByForceOnly(t *testing.T) {
	b := newBench(t)
	b.sessions("s1", "s2")
	holder := b.node("a")
	grants := b.lease(holder, "s1", "s2")
	slot := lease.Slot{Interval: 100 * time.Millisecond, Bound: 10 * time.Second}
	start, err := b.store.Begin(t.Context(), grants[0], slot)
	if err != nil {
		t.Fatal(err)
	}
	b.fails(2, "say --force", "leases", "release", "s1")
	if b.rdb.Get(t.Context(), b.keys.Lease("s1")).Val() != holder {
		t.Fatal("it was released without --force")
	}
	want := fmt.Sprintf("s1 released, of %s with version %d\n", holder, grants[0].Token)
	if got := b.ok("leases", "release", "s1", "--force"); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if n := b.rdb.Exists(t.Context(), b.keys.Lease("s1")).Val(); n != 0 {
		t.Error("it is still there")
	}
	if b.rdb.Get(t.Context(), b.keys.Lease("s2")).Val() != holder {
		t.Error("another one was released")
	}
	if err := b.store.Renew(t.Context(), leasetest.Renewals(time.Minute, grants[:1]...))[0].Err; err == nil {
		t.Error("the holder renews what it lost")
	}
	time.Sleep(150 * time.Millisecond) // due, were there no poll in flight
	next := b.lease("b-1764288000123456789-0000000b", "s1")[0]
	if wait, err := b.store.Begin(t.Context(), next, slot); err != nil || wait.Wait < time.Second {
		t.Errorf("a poll begins while one of the old holder is in flight: %+v, %v", wait, err)
	}
	_ = b.store.Finish(t.Context(), grants[0], lease.Result{OK: true, Started: start.At})
	if wait, err := b.store.Begin(t.Context(), next, slot); err != nil || wait.Wait > 0 {
		t.Errorf("none begins when it has ended: %+v, %v", wait, err)
	}
	b.fails(1, "nobody has the lease", "leases", "release", "nope", "--force")
}

type explainReply struct {
	State     string   `json:"state"`
	HolderID  *string  `json:"holder_id"`
	Preferred *string  `json:"preferred_holder_id"`
	Reason    string   `json:"preferred_reason"`
	Obstacles []string `json:"obstacles"`
	Ranking   []struct {
		Rank       int    `json:"rank"`
		InstanceID string `json:"instance_id"`
		Weight     string `json:"weight"`
		Leases     int    `json:"leases"`
		Share      int    `json:"share"`
		Holds      bool   `json:"holds"`
		Preferred  bool   `json:"preferred"`
		Cordon     string `json:"cordon"`
	} `json:"ranking"`
}

func TestASessionIsExplained(t *testing.T) {
	b := newBench(t)
	b.sessions("s1", "s2", "s3")
	b.put("paused", `{"kind":"log","paused":true}`)
	b.put("ext", `{"kind":"external"}`)
	b.put("bad", `{`)
	if got := one[explainReply](b, "explain", "s1"); got.Preferred != nil || len(got.Ranking) != 0 || got.Obstacles[0] != "no node is alive" {
		t.Errorf("without nodes: %+v", got)
	}
	first, second := b.node("a"), b.node("b")
	b.lease(first, "s1", "s2", "s3")
	moved := 0
	for _, id := range []string{"s1", "s2", "s3"} {
		got := one[explainReply](b, "explain", id)
		if got.HolderID == nil || *got.HolderID != first || got.Preferred == nil || len(got.Ranking) != 2 || got.State != "ok" {
			t.Fatalf("%s: %+v", id, got)
		}
		for i, n := range got.Ranking {
			if n.Rank != i+1 || n.Holds != (n.InstanceID == first) || n.Preferred != (n.InstanceID == *got.Preferred) {
				t.Errorf("%s: %+v", id, n)
			}
			if want := map[string][2]int{first: {3, 2}, second: {0, 1}}[n.InstanceID]; n.Leases != want[0] || n.Share != want[1] {
				t.Errorf("%s: %s has %d of %d, want %v", id, n.InstanceID, n.Leases, n.Share, want)
			}
		}
		if *got.Preferred == second {
			moved++
			if len(got.Obstacles) != 1 || !strings.Contains(got.Obstacles[0], first+" has its lease, and gives it up") ||
				!strings.Contains(got.Reason, "more than its share of 2") {
				t.Errorf("%s: %+v", id, got)
			}
		} else if len(got.Obstacles) != 0 {
			t.Errorf("%s: %+v", id, got)
		}
	}
	if moved != 1 {
		t.Errorf("%d should move, want one", moved)
	}
	for id, want := range map[string]string{
		"paused": "it is paused", "ext": "it is external", "bad": "its document can't be used",
	} {
		got := one[explainReply](b, "explain", id)
		if got.Preferred != nil || len(got.Obstacles) == 0 || !strings.Contains(got.Obstacles[0], want) {
			t.Errorf("%s: %+v", id, got)
		}
	}
	b.fails(1, "no session", "explain", "nope")

	b.put("free", `{"kind":"log"}`)
	b.ok("nodes", "cordon", "a")
	if got := one[explainReply](b, "explain", "free"); strings.Contains(got.Obstacles[0], "cordoned") || got.Ranking[0].Cordon+got.Ranking[1].Cordon != "cordoned" {
		t.Errorf("with one node cordoned: %+v", got)
	}
	b.ok("nodes", "drain", "b")
	if got := one[explainReply](b, "explain", "free"); !strings.Contains(got.Obstacles[0], "all nodes are cordoned") {
		t.Errorf("with all nodes cordoned: %+v", got)
	}
}

func TestAnExplanationIsForPeople(t *testing.T) {
	b := newBench(t)
	first := b.node("a")
	b.sessions("s1")
	b.put("a b", `{"kind":"log","paused":true}`)
	b.lease(first, "s1")
	narrow, wide := b.ok("explain", "s1"), b.ok("explain", "s1", "-o", "wide")
	for _, text := range []string{narrow, wide, b.ok("sessions", "get", "s1")} {
		if !strings.Contains(text, "SHOULD HAVE") || strings.Contains(text, "PREFERRED") {
			t.Error(text)
		}
	}
	weight := one[explainReply](b, "explain", "s1").Ranking[0].Weight
	if strings.Contains(narrow, "weight") || !strings.Contains(wide, "weight "+weight) {
		t.Errorf("%s\n%s", narrow, wide)
	}
	if text := b.ok("explain", "a b"); !strings.Contains(text, "leasehold sessions resume 'a b'\n") {
		t.Error(text)
	}
	if got := one[explainReply](b, "explain", "a b"); len(got.Obstacles) != 1 || got.Obstacles[0] != "it is paused" {
		t.Errorf("%+v", got)
	}
	if strings.Contains(narrow, "resume") {
		t.Error(narrow)
	}
}

func TestAPlanWithoutANode(t *testing.T) {
	b := newBench(t)
	nodes := []string{b.node("a"), b.node("b"), b.node("c")}
	held := map[string]string{}
	for i := range 30 {
		id := fmt.Sprintf("s%d", i)
		b.sessions(id)
		b.lease(nodes[i%3], id)
		held[id] = nodes[i%3]
	}
	type move struct {
		SessionID string  `json:"session_id"`
		From      *string `json:"from"`
		To        *string `json:"to"`
	}
	if moves := list[move](b, "plan", "--moves"); len(moves) != 0 {
		t.Errorf("a balanced fleet moves %v", moves)
	}
	moves := list[move](b, "plan", "--moves", "--without", "b-")
	gets := map[string]int{}
	for _, m := range moves {
		if m.From == nil || *m.From != nodes[1] || held[m.SessionID] != nodes[1] || m.To == nil {
			t.Fatalf("%+v", m)
		}
		gets[*m.To]++
	}
	if len(moves) != 10 || gets[nodes[0]] != 5 || gets[nodes[2]] != 5 {
		t.Errorf("%d moves: %v", len(moves), gets)
	}
	type share struct {
		InstanceID string `json:"instance_id"`
		Leases     int    `json:"leases"`
		Share      int    `json:"share"`
		Gains      int    `json:"gains"`
		Losses     int    `json:"losses"`
	}
	want := []share{{nodes[0], 10, 15, 5, 0}, {nodes[1], 10, 0, 0, 10}, {nodes[2], 10, 15, 5, 0}}
	if got := list[share](b, "plan", "--without", "b-"); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	all := list[move](b, "plan", "--moves", "--without", "a", "--without", "b", "--without", nodes[2])
	if len(all) != 30 || all[0].To != nil {
		t.Errorf("without any node: %d moves, %+v", len(all), all[0])
	}
	b.fails(1, `no node "z" is alive`, "plan", "--without", "z")
	b.fails(2, "--sort-by must be one of session, from, to", "plan", "--moves", "--sort-by", "gains")
}

func TestThePlanMindsCordonsAndLimits(t *testing.T) {
	b := newBench(t)
	nodes := []string{b.node("a"), b.node("b"), b.node("c"), b.node("d")}
	ids := make([]string, 12)
	for i := range ids {
		ids[i] = fmt.Sprintf("s%d", i)
	}
	b.sessions(ids...)
	b.lease(nodes[0], ids[:4]...)
	b.lease(nodes[1], ids[4:6]...)
	for instance, c := range map[string]lease.Cordon{nodes[0]: lease.Drained, nodes[1]: lease.Cordoned} {
		if err := b.store.SetCordon(t.Context(), instance, c); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.store.Publish(t.Context(), lease.Card{Instance: nodes[2], MaxSessions: 3}, time.Minute); err != nil {
		t.Fatal(err)
	}
	shares := map[string]int{}
	for _, n := range list[nodeReply](b, "nodes", "ls") {
		shares[n.InstanceID] = n.Share
	}
	want := map[string]int{nodes[0]: 0, nodes[1]: 2, nodes[2]: 3, nodes[3]: 7}
	if fmt.Sprint(shares) != fmt.Sprint(want) {
		t.Errorf("%v, want %v", shares, want)
	}
	if got := b.ok("nodes", "ls"); !strings.Contains(got, "drained") || !strings.Contains(got, "cordoned") {
		t.Error(got)
	}
}
