package sim

import (
	"encoding/json"
	"fmt"
	"os"
	"testing"
	"time"
)

// TestMutant runs scenarios for so many simulated minutes, or until one convicts: what
// the command in mutants does with builds that were broken on purpose. SIM_MUTANT is
// the profile.
func TestMutant(t *testing.T) {
	profile := os.Getenv("SIM_MUTANT")
	if profile == "" {
		t.Skip("see make sim-mutants")
	}
	left := Span(number(t, "MINUTES", 60) * float64(time.Minute))
	for seed := uint64(number(t, "SEED", 1)); left > 0; seed++ {
		s := DrawAs(seed, profile)
		s.Length = min(s.Length, left)
		left -= s.Length
		v := simulate(t, job{Scenario: s})
		line, err := json.Marshal(map[string]any{"Seed": seed, "Violation": v.Violation, "At": v.At.D()})
		if err != nil {
			t.Fatal(err)
		}
		fmt.Printf("\nverdict %s\n", line)
		if v.Violation != "" {
			return
		}
	}
}
