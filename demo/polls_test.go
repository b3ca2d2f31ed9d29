package demo

import (
	"encoding/json"
	"testing"
	"time"

	"leasehold/lease"
	"leasehold/target"
)

// poll writes the record of a poll as the target does.
func (p *polls) poll(t *testing.T, session, instance string, from time.Duration) {
	t.Helper()
	text, err := json.Marshal(target.Record{Session: session, Instance: instance, Token: lease.Token(1), From: from})
	if err != nil {
		t.Fatal(err)
	}
	if n, err := p.Write(text); n != len(text) || err != nil {
		t.Fatalf("wrote %d of %d: %v", n, len(text), err)
	}
}

func TestTheSessionsOfALostNodeArePolledAgain(t *testing.T) {
	p := newPolls()
	p.poll(t, "a", "one", 1*time.Second)
	p.poll(t, "b", "one", 2*time.Second)
	p.poll(t, "c", "two", 2*time.Second)
	if n := p.await("node-1", "one", "its end", 3*time.Second); n != 2 {
		t.Fatalf("waiting for %d sessions, want 2", n)
	}
	p.poll(t, "c", "two", 4*time.Second)
	p.poll(t, "b", "one", 2900*time.Millisecond) // was under way, and ended with its node
	if done := p.over(); len(done) != 0 {
		t.Fatalf("over with none polled again: %+v", done)
	}
	p.poll(t, "a", "two", 8*time.Second)
	if done := p.over(); len(done) != 0 {
		t.Fatalf("over with one of two polled again: %+v", done)
	}
	p.poll(t, "b", "two", 7*time.Second)
	done := p.over()
	if len(done) != 1 || done[0].sessions != 2 || done[0].latest != 8*time.Second || done[0].gap != 7*time.Second {
		t.Errorf("over: %+v", done)
	}
	if again := p.over(); len(again) != 0 {
		t.Errorf("over twice: %+v", again)
	}
	if gap := p.longestGap(); gap != 7*time.Second {
		t.Errorf("the longest gap is %s", gap)
	}
}

func TestANodeWithoutSessionsIsNotWaitedFor(t *testing.T) {
	p := newPolls()
	p.poll(t, "a", "one", time.Second)
	if n := p.await("node-2", "two", "its end", 2*time.Second); n != 0 || len(p.over()) != 0 {
		t.Errorf("waiting for %d sessions", n)
	}
}

func TestWhatIsToldOfALostNode(t *testing.T) {
	w := wait{node: "node-2", sessions: 8, event: "its end", since: time.Second, latest: 6900 * time.Millisecond, gap: 7 * time.Second}
	want := "all 8 sessions of node-2 are polled again, 5.9 s after its end; longest gap between two polls: 7.0 s (interval 2 s)"
	if got := w.text(2 * time.Second); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	w.gap = 2100 * time.Millisecond
	want = "8 sessions of node-2 polled on by others, none was missed; longest gap between two polls: 2.1 s (interval 2 s)"
	if got := w.text(2 * time.Second); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
