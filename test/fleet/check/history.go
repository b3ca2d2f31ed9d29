package check

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"leasehold/lease"
	"leasehold/target"
)

// History is what is known of a fleet's run.
type History struct {
	Polls  []target.Record
	Leases []LeaseSample
	Faults []Fault
	// Logged are acquisitions that nodes told of. One that was given back soon is in no
	// sample.
	Logged []Acquisition
}

// Acquisition is one acquisition of a lease.
type Acquisition struct {
	Session string
	Token   lease.Token
}

// LeaseSample is one lease as it was read from Redis.
type LeaseSample struct {
	Session string
	Holder  string      // empty: free
	Token   lease.Token // zero: not read
	// At is when the reading was sent. Samples of one round have the same At.
	At time.Duration
	// Until is the deadline that Redis gave to the lease; zero: not read, or none.
	Until time.Duration
	// Clock is the time of Redis at the reading, in microseconds; zero: not read. A counter
	// that starts anew starts with it.
	Clock lease.Token
}

func (s LeaseSample) String() string {
	holder := cmp.Or(s.Holder, "nobody")
	return fmt.Sprintf("%s (token %d) at %s", holder, s.Token, short(s.At))
}

// Fault is a stretch in which something was broken on purpose.
type Fault struct {
	Name     string
	From, To time.Duration
	// Allow is how much longer than otherwise a session may go without a poll around it.
	Allow time.Duration
}

// Window is a stretch of the history, From included, To not. The zero Window is all of
// it, where a check does not need its length: Gaps and Rhythm do.
type Window struct{ From, To time.Duration }

func (w Window) has(at time.Duration) bool {
	return w == Window{} || at >= w.From && at < w.To
}

// ReadPolls reads the JSON lines that a target logged.
func ReadPolls(from io.Reader) ([]target.Record, error) {
	var polls []target.Record
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		var r target.Record
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		polls = append(polls, r)
	}
	return polls, lines.Err()
}

// bySession returns the polls that start in the window, each session's in the order of
// their starts.
func (h History) bySession(w Window) map[string][]target.Record {
	sessions := map[string][]target.Record{}
	for _, p := range h.Polls {
		if w.has(p.From) {
			sessions[p.Session] = append(sessions[p.Session], p)
		}
	}
	for _, polls := range sessions {
		slices.SortStableFunc(polls, func(a, b target.Record) int { return cmp.Compare(a.From, b.From) })
	}
	return sessions
}

// samples returns the samples of each session in their order.
func (h History) samples(w Window) map[string][]LeaseSample {
	sessions := map[string][]LeaseSample{}
	for _, s := range h.Leases {
		if w.has(s.At) {
			sessions[s.Session] = append(sessions[s.Session], s)
		}
	}
	for _, samples := range sessions {
		slices.SortStableFunc(samples, func(a, b LeaseSample) int { return cmp.Compare(a.At, b.At) })
	}
	return sessions
}

func sorted[V any](m map[string]V) []string {
	return slices.Sorted(maps.Keys(m))
}

func short(d time.Duration) string { return d.Round(time.Millisecond / 10).String() }
