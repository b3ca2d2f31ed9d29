package cli_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"

	"leasehold/lease"
)

type statusReply struct {
	Healthy  bool           `json:"healthy"`
	Problems []string       `json:"problems"`
	Notes    []string       `json:"notes"`
	Members  int            `json:"members"`
	Sessions int            `json:"sessions"`
	States   map[string]int `json:"states"`
	Late     int            `json:"late"`
	LateMS   int64          `json:"late_ms"`
	Spread   int            `json:"spread"`
	WorstTTL *int64         `json:"worst_ttl_ms"`
	Worst    string         `json:"worst_session_id"`
	Refused  *uint64        `json:"refused_results"`
	Redis    struct {
		URL     string `json:"url"`
		Version string `json:"version"`
	} `json:"redis"`
	Events struct {
		Flags   *string `json:"flags"`
		Missing string  `json:"missing"`
		Problem string  `json:"problem"`
	} `json:"events"`
}

// status reads the status and its exit code.
func (b *bench) status() (v statusReply, code int) {
	b.t.Helper()
	got := b.run("status", "-o", "json")
	if err := json.Unmarshal([]byte(got.stdout), &v); err != nil || got.stderr != "" {
		b.t.Fatalf("%v: %+v", err, got)
	}
	return v, got.code
}

func TestTheStatusOfAFleetThatWorks(t *testing.T) {
	b := newBench(t)
	first, second := b.node("a"), b.node("b")
	if v, code := b.status(); code != 0 || !v.Healthy || v.Members != 2 || v.Sessions != 0 || v.WorstTTL != nil {
		t.Errorf("no sessions yet: exit %d, %+v", code, v)
	}
	for _, id := range []string{"s1", "s2", "s3", "s4"} {
		b.put(id, `{"kind":"log"}`)
	}
	b.put("p", `{"kind":"log","paused":true}`)
	b.put("x", `{"kind":"external"}`)
	b.put("bad", `{`)
	grants := b.lease(first, "s1", "s2", "s3")
	b.lease(second, "s4")
	b.lease("worker", "x")
	b.poll(grants[0], lease.Result{Class: "timeout", Failures: 1, RetryAt: time.Now().Add(time.Second)})
	b.rdb.PExpire(t.Context(), b.keys.Lease("s2"), 30*time.Second)
	b.rdb.ConfigSet(t.Context(), "notify-keyspace-events", "KEA")
	for name, refused := range map[string]uint64{first: 2, second: 5, "gone-1764288000123456789-0000000b": 1} {
		if err := b.store.Publish(t.Context(), lease.Card{Instance: name, Refused: refused}, time.Minute); err != nil {
			t.Fatal(err)
		}
	}
	v, code := b.status()
	if v.Refused == nil || *v.Refused != 7 {
		t.Errorf("%v results were refused, want those of the nodes that live", v.Refused)
	}
	want := map[string]int{"ok": 3, "failing": 1, "unleased": 0, "orphaned": 0, "api": 1, "external": 0, "paused": 1, "invalid": 1}
	for state, n := range want {
		if v.States[state] != n {
			t.Errorf("%d are %s, want %d", v.States[state], state, n)
		}
	}
	if code != 0 || !v.Healthy || len(v.Problems) != 0 || v.Members != 2 || v.Sessions != 7 || v.Spread != 2 || v.Late != 0 {
		t.Errorf("exit %d, %+v", code, v)
	}
	if v.Worst != "s2" || v.WorstTTL == nil || *v.WorstTTL > 30_000 || *v.WorstTTL < 20_000 {
		t.Errorf("the worst lease is %s with %v", v.Worst, v.WorstTTL)
	}
	if info := b.rdb.Info(t.Context(), "server").Val(); v.Redis.Version == "" || !strings.Contains(info, "redis_version:"+v.Redis.Version+"\r\n") {
		t.Errorf("version %q", v.Redis.Version)
	}
	if v.Events.Flags == nil || *v.Events.Flags != "AKE" || v.Events.Missing != "" || v.Events.Problem != "" {
		t.Errorf("events %+v", v.Events)
	}
}

// What a node that is stopping still polls is not that of a dead one, whatever reads it.
func TestANodeThatStopsMakesNoFleetUnhealthy(t *testing.T) {
	const stopping = "stopping-1764288000123456789-0000000b"
	b := newBench(t)
	b.node("a")
	b.put("s1", `{"kind":"log"}`)
	b.lease(stopping, "s1")
	if v, code := b.status(); code != 1 || v.States["orphaned"] != 1 {
		t.Fatalf("without its card: exit %d, %+v", code, v)
	}
	card := lease.Card{Instance: stopping}
	publish := func() {
		if err := b.store.Publish(t.Context(), card, time.Minute); err != nil {
			t.Fatal(err)
		}
	}
	publish() // of a node that died
	if v, code := b.status(); code != 1 || v.States["orphaned"] != 1 {
		t.Fatalf("with the card of a dead node: exit %d, %+v", code, v)
	}
	card.Leaving = true
	publish()
	if v, code := b.status(); code != 0 || v.States["ok"] != 1 {
		t.Errorf("exit %d, %+v", code, v)
	}
	if all := list[sessionReply](b, "sessions", "ls"); len(all) != 1 || all[0].State != "ok" {
		t.Errorf("%+v", all)
	}
	got := b.run("explain", "s1")
	if !strings.Contains(got.stdout, "its holder "+stopping+" is stopping") {
		t.Errorf("%s%s", got.stdout, got.stderr)
	}
}

func TestWhatMakesAFleetUnhealthy(t *testing.T) {
	for name, test := range map[string]struct {
		prepare func(b *bench, node string)
		says    string
	}{
		"a session that nobody has": {func(b *bench, _ string) { b.put("s2", `{"kind":"log"}`) }, "1 of 2 sessions is leased by nobody"},
		"a lease of a node that is gone": {func(b *bench, _ string) {
			b.put("s2", `{"kind":"log"}`)
			b.lease("gone-1764288000123456789-0000000b", "s2")
		}, "1 of 2 sessions is leased by a node that is gone"},
		"a session whose lease key is another's": {func(b *bench, _ string) {
			b.put("s2", `{"kind":"log"}`)
			b.rdb.LPush(b.t.Context(), b.keys.Lease("s2"), "x")
		}, "1 of 2 sessions is barred by a key of another type"},
		"a session that is not polled": {func(b *bench, _ string) {
			b.rdb.HSet(b.t.Context(), b.keys.State("s1"), "due", time.Now().Add(-26*time.Second).UnixMilli())
		}, "1 of 1 sessions is overdue by more than two intervals"},
		"a session that was never polled": {func(b *bench, _ string) {
			b.rdb.HSet(b.t.Context(), b.keys.State("s1"), "since", time.Now().Add(-26*time.Second).UnixMilli())
		}, "overdue"},
		"no node and no session": {func(b *bench, node string) {
			b.rdb.Del(b.t.Context(), b.keys.Session("s1"), b.keys.Lease("s1"))
			_ = b.store.Leave(b.t.Context(), node)
		}, "no node is alive"},
		"no node": {func(b *bench, node string) { _ = b.store.Leave(b.t.Context(), node) }, "no node is alive"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			node := b.node("a")
			b.put("s1", `{"kind":"log"}`)
			b.lease(node, "s1")
			if v, code := b.status(); code != 0 || !v.Healthy {
				t.Fatalf("before: exit %d, %+v", code, v)
			}
			test.prepare(b, node)
			v, code := b.status()
			if code != 1 || v.Healthy || !strings.Contains(strings.Join(v.Problems, "; "), test.says) {
				t.Errorf("exit %d, %+v", code, v)
			}
			if got := b.run("status"); got.code != 1 || !strings.Contains(got.stdout, test.says) {
				t.Errorf("%+v", got)
			}
		})
	}
}

// squeezed is a table whatever the width of its columns.
func squeezed(table string) string { return regexp.MustCompile(` +`).ReplaceAllString(table, " ") }

func TestAFleetOfCordonedNodesHasNoSpread(t *testing.T) {
	b := newBench(t)
	first, second := b.node("a"), b.node("b")
	b.sessions("s1", "s2")
	b.lease(first, "s1", "s2")
	b.ok("nodes", "cordon", "a", "b")
	got := squeezed(b.ok("status"))
	if !strings.Contains(got, "SPREAD -\n") || strings.Contains(got, "cordoned") {
		t.Errorf("nothing is free: %s", got)
	}
	b.sessions("s3")
	uncordon := "all 2 nodes are cordoned: leasehold nodes uncordon " + first + " " + second
	if v, code := b.status(); code != 1 || len(v.Problems) != 2 || v.Problems[0] != uncordon {
		t.Errorf("exit %d, %+v", code, v)
	}
	b.ok("nodes", "uncordon", "b")
	got = squeezed(b.run("status").stdout)
	if !strings.Contains(got, "SPREAD 0 (from 0 to 0 leases a node)\n") || strings.Contains(got, "cordoned") {
		t.Errorf("one takes some: %s", got)
	}
}

// Each problem of single sessions comes with the command that lists them.
func TestTheCommandOfAProblemListsItsSessions(t *testing.T) {
	b := newBench(t)
	b.sessions("ok", "unleased", "orphaned", "invalid", "late")
	b.lease(b.node("a"), "ok", "late")
	b.lease("gone-1764288000123456789-0000000b", "orphaned")
	b.rdb.LPush(t.Context(), b.keys.Lease("invalid"), "x")
	b.rdb.HSet(t.Context(), b.keys.State("late"), "due", time.Now().Add(-time.Minute).UnixMilli())
	v, _ := b.status()
	var listed []string
	for _, p := range v.Problems {
		_, command, found := strings.Cut(p, ": leasehold ")
		if !found {
			t.Fatal(p)
		}
		listed = append(listed, strings.Fields(b.ok(append(strings.Fields(command), "-o", "name")...))...)
	}
	if got := strings.Join(listed, " "); got != "unleased orphaned invalid late" {
		t.Errorf("%s; %q", got, v.Problems)
	}
}

// A fleet that does its work may have targets that do not.
func TestWhatFailsIsNotedWithTheCommandThatListsIt(t *testing.T) {
	b := newBench(t)
	first := b.node("a")
	b.sessions("s1", "s2", "s3")
	grants := b.lease(first, "s1", "s2", "s3")
	if got := b.ok("status"); strings.Contains(got, "NOTE") {
		t.Errorf("all is well: %s", got)
	}
	b.put("bad", `{`)
	for _, g := range grants[:2] {
		b.poll(g, lease.Result{Class: "timeout", Failures: 1, RetryAt: time.Now().Add(time.Minute)})
	}
	for _, want := range []string{
		"NOTE 2 of 4 sessions fail: leasehold sessions ls --state failing -o wide\n",
		"NOTE 1 of 4 documents can't be used: leasehold sessions ls --state invalid -o wide\n",
	} {
		if got := squeezed(b.ok("status")); !strings.Contains(got, want) {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if v, _ := b.status(); !v.Healthy || len(v.Notes) != 2 || !strings.HasPrefix(v.Notes[0], "2 of 4 sessions fail: ") {
		t.Errorf("%+v", v)
	}
}

func TestASessionWithinTwoIntervalsAndATimeoutIsNotLate(t *testing.T) {
	b := newBench(t)
	b.put("s1", `{"kind":"log"}`)
	b.lease(b.node("a"), "s1")
	b.rdb.HSet(t.Context(), b.keys.State("s1"), "due", time.Now().Add(-21*time.Second).UnixMilli())
	if v, code := b.status(); code != 0 || v.Late != 0 {
		t.Errorf("exit %d, %+v", code, v)
	}
}

func TestTheStatusOfAServerThatTellsNothing(t *testing.T) {
	b := newBench(t)
	b.node("a")
	if err := b.rdb.Do(t.Context(), "ACL", "SETUSER", "default", "-info", "-config").Err(); err != nil {
		t.Fatal(err)
	}
	v, code := b.status()
	if code != 0 || v.Redis.Version != "" || v.Events.Flags != nil || !strings.Contains(v.Events.Problem, "NOPERM") {
		t.Errorf("exit %d, %+v", code, v)
	}
}

func TestTheStatusTable(t *testing.T) {
	b := newBench(t)
	b.everyState()
	got := b.run("status")
	golden(t, "status.txt", fixed(got.stdout))
	if got.code != 1 {
		t.Errorf("exit %d", got.code)
	}
}
