package cli_test

import (
	"strings"
	"testing"
	"time"

	"leasehold/lease"
)

// naming are the commands that are told which node is meant.
func naming(name string) [][]string {
	return [][]string{
		{"nodes", "get", name},
		{"nodes", "cordon", name},
		{"nodes", "uncordon", name},
		{"nodes", "drain", name, "--wait=false"},
		{"plan", "--without", name},
		{"sessions", "ls", "--owner", name},
	}
}

func TestEveryCommandFindsANodeByTheSameRule(t *testing.T) {
	b := newBench(t)
	first := b.node("node-1")
	b.node("node-10")
	b.sessions("s1")
	b.lease(first, "s1")
	for _, name := range []string{first, "node-1", "node-1-", first[:len("node-1-17642")]} {
		for _, args := range naming(name) {
			if got := b.ok(args...); !strings.Contains(got, first) {
				t.Errorf("%v: %s", args, got)
			}
		}
	}
	b.ok("nodes", "drain", "node-1-17", "--wait=false")
	if got := b.cordon(first) + b.cordon("node-10-1764288000123456789-0000000a"); got != "drained" {
		t.Errorf("%q", got)
	}
}

func TestANameOfSeveralNodesListsThem(t *testing.T) {
	b := newBench(t)
	first, twin := b.node("a"), "a-1764288000999456789-0000000b"
	if err := b.store.Beat(t.Context(), twin, time.Minute); err != nil {
		t.Fatal(err)
	}
	b.node("b1")
	b.card(lease.Card{Instance: twin, Version: "v1.4.0", Started: time.Now().Add(-3*time.Hour - 20*time.Second)})
	for _, name := range []string{"a", "a-17"} {
		for _, args := range naming(name) {
			b.fails(2, `"`+name+`" may be any of 2 nodes`, args...)
			b.fails(2, "\n  "+twin+"  started 3h0m ago, version v1.4.0\n", args...)
			b.fails(2, "\n  "+first+"\n", args...) // of which nothing more is known
		}
	}
	if keys := b.rdb.Keys(t.Context(), "poll:cordon:*").Val(); len(keys) != 0 {
		t.Errorf("%v", keys)
	}
}

func TestANameOfNoNodeListsThoseThatAreAlive(t *testing.T) {
	b := newBench(t)
	none := naming("z")
	none = none[:len(none)-1] // an owner may be a worker
	for _, args := range none {
		b.fails(1, "no node is alive", args...)
	}
	first, second := b.node("a"), b.node("z1") // a node z may be gone, and z1 is another one
	for _, args := range none {
		b.fails(1, `no node "z" is alive: there are `+first+", "+second+"\n", args...)
	}
	for name := range strings.SplitSeq("cdefghijklmnop", "") {
		b.node(name)
	}
	b.fails(1, "and 6 more\n", "nodes", "get", "z")
}

func TestAnOwnerIsANodeOrAWorker(t *testing.T) {
	b := newBench(t)
	first, second := b.node("node-1"), b.node("node-10")
	b.sessions("s1", "s2", "s3", "s4", "s5", "s6")
	b.lease(first, "s1")
	b.lease(second, "s2")
	b.lease("node-1", "s3") // a worker may be called like a node
	b.lease("worker-1", "s4")
	b.lease("worker-2", "s5")
	b.lease("gone-1764288000123456789-0000000b", "s6")
	for owner, want := range map[string]string{
		"node-1": "s1 s3", "node-10": "s2", first: "s1", "worker-1": "s4", "worker": "s4 s5", "gone": "s6",
	} {
		got := b.run("sessions", "ls", "--owner", owner, "--sort-by", "session", "-o", "name")
		if strings.Join(strings.Fields(got.stdout), " ") != want || got.code != 0 || got.stderr != "" {
			t.Errorf("%s: %+v, want %s", owner, got, want)
		}
	}
	got := b.run("sessions", "ls", "--owner", "nobody", "-o", "json")
	if got.code != 0 || strings.TrimSpace(got.stdout) != "[]" ||
		!strings.Contains(got.stderr, `--owner "nobody": no node that is alive is called so, and no lease has such a holder`) {
		t.Errorf("%+v", got)
	}
	// Known, and merely without what else is wanted.
	for _, owner := range []string{"node-1", "worker-1"} {
		if got := b.run("sessions", "ls", "--owner", owner, "--state", "invalid"); got.code != 0 || got.stderr != "" {
			t.Errorf("%s: %+v", owner, got)
		}
	}
}
