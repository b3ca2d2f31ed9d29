package sim

import (
	"encoding/json"
	"fmt"
	"time"
)

// Scenario is everything that is done to one fleet, drawn up front: replaying any
// subset of its faults means the same faults. It is pure data and survives JSON.
type Scenario struct {
	Seed     uint64  `json:"seed"`
	Timings  Timings `json:"timings"`
	Length   Span    `json:"length"`
	Nodes    int     `json:"nodes"`    // at the start
	Sessions int     `json:"sessions"` // at the start; see document
	Faults   []Fault `json:"faults"`
	Calms    []Calm  `json:"calms"`
	// Why tells, in a kept failure, what went wrong.
	Why string `json:"why,omitempty"`
}

// Timings are a fleet's settings and the paces that depend on them.
type Timings struct {
	Profile                         string `json:"profile"`
	LeaseTTL, RenewInterval, Margin Span
	HeartbeatTTL, HeartbeatInterval Span
	Reconcile                       Span
	Timeout                         Span // of Redis
	// Shortest and Longest bound the poll intervals of the documents.
	Shortest, Longest Span
	// Canary is the pace of the listener's proof of life, Sweep of the server's
	// search for keys that were changed unseen.
	Canary, Sweep Span
	// Latency is how long each byte takes to Redis and back, up to its half more, in some
	// fleets. Where it is zero, sending, effect and answer are one step.
	Latency Span `json:"Latency,omitzero"`
}

// Fault is one trouble. Whatever it hits is Which modulo how many there are when
// it comes, so it means something in every subset.
type Fault struct {
	At    Span   `json:"at"`
	Kind  string `json:"kind"`
	Lasts Span   `json:"lasts,omitempty"` // zero: it comes and stays, or is over at once
	Which uint32 `json:"which,omitempty"`
	Count int    `json:"count,omitempty"` // replies, keys, documents
	By    Span   `json:"by,omitempty"`    // a delay, a step of a clock
	Text  string `json:"text,omitempty"`  // of an error reply
}

func (f Fault) String() string {
	s := fmt.Sprintf("%s %s", f.At, f.Kind)
	if f.Text != "" {
		s += fmt.Sprintf(" %q", f.Text)
	}
	if f.Count != 0 {
		s += fmt.Sprintf(" ×%d", f.Count)
	}
	if f.By != 0 {
		s += " by " + f.By.String()
	}
	if f.Lasts != 0 {
		s += " for " + f.Lasts.String()
	}
	return s
}

// Calm is a stretch without trouble: at its beginning all faults end and who was
// to come back does; at its end everything that takes time must hold.
type Calm struct {
	At    Span `json:"at"`
	Until Span `json:"until"`
}

// Span is a duration that reads well in JSON.
type Span time.Duration

// D is the span as a duration.
func (s Span) D() time.Duration { return time.Duration(s) }

func (s Span) String() string { return time.Duration(s).String() }

// MarshalText implements encoding.TextMarshaler.
func (s Span) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *Span) UnmarshalText(text []byte) error {
	d, err := time.ParseDuration(string(text))
	*s = Span(d)
	return err
}

// parse reads a scenario that was kept.
func parse(text []byte) (Scenario, error) {
	var s Scenario
	err := json.Unmarshal(text, &s)
	return s, err
}

// text is the scenario as it is kept.
func (s Scenario) text() []byte {
	b, err := json.MarshalIndent(s, "", " ")
	if err != nil {
		panic(err) // plain data
	}
	return append(b, '\n')
}
