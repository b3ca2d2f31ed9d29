package cli_test

import (
	"strings"
	"testing"
	"time"

	"leasehold/lease"
)

type cardReply struct {
	InstanceID  string     `json:"instance_id"`
	Version     string     `json:"version"`
	StartedAt   *time.Time `json:"started_at"`
	HTTPAddr    string     `json:"http_addr"`
	MaxSessions *int       `json:"max_sessions"`
}

// card has a node say of itself what the nodes of a fleet do.
func (b *bench) card(c lease.Card) {
	b.t.Helper()
	if err := b.store.Publish(b.t.Context(), c, time.Minute); err != nil {
		b.t.Fatal(err)
	}
}

func TestANodeIsShownWithWhatItSaysOfItself(t *testing.T) {
	b := newBench(t)
	first, second := b.node("a"), b.node("b")
	began := time.Now().Add(-3*time.Hour - 20*time.Second).UTC().Truncate(time.Millisecond)
	b.card(lease.Card{Instance: first, Version: "v1.4.0", Started: began, HTTPAddr: "10.0.0.5:8080", MaxSessions: 40})
	all := list[cardReply](b, "nodes", "ls")
	if len(all) != 2 {
		t.Fatalf("%+v", all)
	}
	for _, got := range []cardReply{all[0], one[cardReply](b, "nodes", "get", "a")} {
		if got.Version != "v1.4.0" || got.StartedAt == nil || !got.StartedAt.Equal(began) || got.HTTPAddr != "10.0.0.5:8080" ||
			got.MaxSessions == nil || *got.MaxSessions != 40 {
			t.Errorf("%+v", got)
		}
	}
	if got := all[1]; got.InstanceID != second || got.Version != "" || got.StartedAt != nil || got.MaxSessions != nil {
		t.Errorf("without a card: %+v", got)
	}
	wide := strings.Split(b.ok("nodes", "ls", "-o", "wide", "--sort-by", "version"), "\n")
	for _, title := range []string{"VERSION", "STARTED", "HTTP", "MAX"} {
		if !strings.Contains(wide[0], title) || strings.Contains(b.ok("nodes", "ls"), title) {
			t.Errorf("%s is not in the wide table alone: %s", title, wide[0])
		}
	}
	if fields := strings.Fields(wide[1]); fields[0] != second || strings.Contains(wide[1], "ago") {
		t.Errorf("without a card: %s", wide[1])
	}
	for _, text := range []string{wide[2], b.ok("nodes", "get", "a")} {
		for _, want := range []string{"v1.4.0", "3h0m ago", "10.0.0.5:8080", "40"} {
			if !strings.Contains(text, want) {
				t.Errorf("no %q: %s", want, text)
			}
		}
	}
}

func TestNodesAreSortedByWhenTheyWereStarted(t *testing.T) {
	b := newBench(t)
	for name, age := range map[string]time.Duration{"a": time.Minute, "b": 10 * time.Hour, "c": 2 * time.Second} {
		b.card(lease.Card{Instance: b.node(name), Started: time.Now().Add(-age)})
	}
	rows := strings.Fields(b.ok("nodes", "ls", "--sort-by", "started", "-o", "name"))
	if len(rows) != 3 || rows[0][0] != 'b' || rows[1][0] != 'a' || rows[2][0] != 'c' {
		t.Errorf("%v, want b, a, c", rows)
	}
}
