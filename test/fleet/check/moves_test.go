package check_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"leasehold/target"
	"leasehold/test/fleet/check"
)

func TestMoves(t *testing.T) {
	h := healthy()
	polls := check.PollMoves(h, check.Window{})
	want := check.Move{Session: "s0", From: "n0", To: "n1", Left: 9*interval + 100*ms, Taken: 10 * interval}
	if len(polls) != 1 || polls[0] != want {
		t.Errorf("by polls %+v, want %+v", polls, want)
	}
	// The lease is free for a while in between: still one move.
	leases(func(s *check.LeaseSample) {
		if s.Session == "s0" && s.At >= moveAt && s.At < moveAt+100*ms {
			s.Holder, s.Token = "", 0
		}
	})(&h)
	samples := check.LeaseMoves(h, check.Window{})
	want = check.Move{Session: "s0", From: "n0", To: "n1", Left: moveAt - 50*ms, Taken: moveAt + 100*ms}
	if len(samples) != 1 || samples[0] != want {
		t.Errorf("by samples %+v, want %+v", samples, want)
	}
	if got := check.PollMoves(h, settled); len(got) != 0 {
		t.Errorf("moves before the move: %+v", got)
	}
}

func TestALongErrorIsCut(t *testing.T) {
	h := healthy()
	for i := range h.Polls {
		h.Polls[i].Token = 0
	}
	err := check.Tokens(h, 1).Err()
	if lines := strings.Count(err.Error(), "\n"); lines != 11 || !strings.HasSuffix(err.Error(), "and 170 more") {
		t.Errorf("%d lines: %v", lines, err)
	}
}

func TestReadPolls(t *testing.T) {
	var log bytes.Buffer
	h := healthy()
	for _, p := range h.Polls {
		if err := json.NewEncoder(&log).Encode(p); err != nil {
			t.Fatal(err)
		}
	}
	polls, err := check.ReadPolls(&log)
	if err != nil || !reflect.DeepEqual(polls, h.Polls) {
		t.Errorf("%d polls read of %d: %v", len(polls), len(h.Polls), err)
	}
	if _, err := check.ReadPolls(strings.NewReader("{}\nx\n")); err == nil || !strings.Contains(err.Error(), "line 2") {
		t.Errorf("a broken line: %v", err)
	}
}

// Overlaps agrees with the plain comparison of all pairs.
func TestOverlapsFindsAllPairs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var h check.History
		n := rapid.IntRange(1, 30).Draw(t, "polls")
		for range n {
			from := time.Duration(rapid.IntRange(0, 200).Draw(t, "from")) * 10 * ms
			h.Polls = append(h.Polls, target.Record{
				Session: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "session"),
				From:    from, To: from + time.Duration(rapid.IntRange(1, 20).Draw(t, "for"))*10*ms,
			})
		}
		want := 0
		for i, a := range h.Polls {
			for _, b := range h.Polls[i+1:] {
				if a.Session == b.Session && a.From < b.To && b.From < a.To {
					want++
				}
			}
		}
		if got := len(check.Overlaps(h, 1).Violations); got != want {
			t.Errorf("%d overlaps, want %d in %v", got, want, h.Polls)
		}
	})
}
