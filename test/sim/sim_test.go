package sim

import (
	"os"
	"strconv"
	"testing"
	"testing/synctest"
	"time"
)

func number(name string, otherwise uint64) uint64 {
	if n, err := strconv.ParseUint(os.Getenv(name), 10, 64); err == nil {
		return n
	}
	return otherwise
}

// simulate runs a scenario in a bubble of its own.
func simulate(t *testing.T, s Scenario) (v Verdict) {
	t.Helper()
	begun := time.Now()
	t.Run(strconv.FormatUint(s.Seed, 10), func(t *testing.T) {
		synctest.Test(t, func(*testing.T) { v = Run(s) })
	})
	v.Wall = Span(time.Since(begun))
	return v
}

func TestSmoke(t *testing.T) {
	first, count := number("SEED", 3), number("SEEDS", 1)
	for seed := first; seed < first+count; seed++ {
		s := Draw(seed)
		v := simulate(t, s)
		t.Logf("seed %d %s %s %d nodes %d sessions: %d faults, %d polls, %d terms, %s, %s", seed, v.Profile, v.At, s.Nodes, s.Sessions, len(s.Faults), v.Polls, v.Terms, v.Wall, v.Violation)
		if v.Violation != "" {
			t.Errorf("%v", v.History)
		}
	}
}
