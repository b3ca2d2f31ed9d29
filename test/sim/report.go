package sim

import (
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"time"
)

// share is what one profile contributed.
type share struct {
	Seeds int     `json:"seeds"`
	Hours float64 `json:"fleet_hours"`
}

// report sums up many runs.
type report struct {
	mu    sync.Mutex
	begun time.Time

	FirstSeed  uint64            `json:"first_seed"`
	Seeds      int               `json:"seeds"`
	Hours      float64           `json:"fleet_hours"`
	Wall       float64           `json:"wall_seconds"`
	PerMinute  float64           `json:"fleet_hours_per_minute"`
	Polls      int               `json:"polls"`
	Terms      int               `json:"lease_terms"`
	Profiles   map[string]*share `json:"profiles"`
	Faults     map[string]int    `json:"faults"`
	Violations []Verdict         `json:"violations"`
}

func newReport(first uint64) *report {
	return &report{
		begun: time.Now(), FirstSeed: first, Profiles: map[string]*share{},
		Faults: map[string]int{}, Violations: []Verdict{},
	}
}

// add counts a run.
func (r *report) add(v Verdict) {
	r.mu.Lock()
	defer r.mu.Unlock()
	hours := v.At.D().Hours()
	r.Seeds++
	r.Hours += hours
	r.Polls += v.Polls
	r.Terms += v.Terms
	if r.Profiles[v.Profile] == nil {
		r.Profiles[v.Profile] = &share{}
	}
	r.Profiles[v.Profile].Seeds++
	r.Profiles[v.Profile].Hours += hours
	for kind, n := range v.Faults {
		r.Faults[kind] += n
	}
	if v.Violation != "" {
		r.Violations = append(r.Violations, v)
	}
	r.Wall = time.Since(r.begun).Seconds()
	r.PerMinute = r.Hours / r.Wall * 60
}

// line is the state of affairs.
func (r *report) line() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return fmt.Sprintf("%6.0f s: %d seeds, %.1f fleet-hours (%.1f a minute), %d polls, %d terms, %d violations",
		time.Since(r.begun).Seconds(), r.Seeds, r.Hours, r.PerMinute, r.Polls, r.Terms, len(r.Violations))
}

func (r *report) violations() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.Violations)
}

func (r *report) hours() float64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.Hours
}

// write keeps the report as JSON.
func (r *report) write(path string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	b, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(b, '\n'), 0o600)
}
