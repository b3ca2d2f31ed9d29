package check

import (
	"slices"
	"time"

	"leasehold/target"
)

// Rolling judges polls as they end, and keeps only those that later ones may still be
// compared with: what it needs does not grow with time.
type Rolling struct {
	// Span is longer than any poll may last. A poll is judged beside all that ended
	// within a span before it or after.
	Span time.Duration

	polls []target.Record
	judge time.Duration // when the next span ends
	total int
	found map[string]Violation
	last  map[string]time.Duration
}

// Add takes a poll that has ended. Polls come in the order of their ends.
func (r *Rolling) Add(p target.Record) {
	if r.found == nil {
		r.found, r.last, r.judge = map[string]Violation{}, map[string]time.Duration{}, p.To+r.Span
	}
	r.polls = append(r.polls, p)
	r.total++
	r.last[p.Session] = max(r.last[p.Session], p.From)
	if p.To >= r.judge {
		r.look(p.To)
	}
}

// look judges what is kept and drops what no later poll can meet.
func (r *Rolling) look(now time.Duration) {
	h := History{Polls: r.polls}
	for _, v := range slices.Concat(Overlaps(h, 0).Violations, Tokens(h, 0).Violations) {
		r.found[v.String()] = v
	}
	r.polls = slices.DeleteFunc(r.polls, func(p target.Record) bool { return p.To < now-r.Span })
	r.judge = now + r.Span
}

// Kept is how many polls are in memory.
func (r *Rolling) Kept() int { return len(r.polls) }

// Idle returns the sessions of these that were not polled since the moment.
func (r *Rolling) Idle(sessions []string, since time.Duration) []string {
	var idle []string
	for _, id := range sessions {
		if r.last[id] < since {
			idle = append(idle, id)
		}
	}
	return idle
}

// Verdict is what all polls so far show. The evidence is polls.
func (r *Rolling) Verdict(need int) Verdict {
	if len(r.polls) > 0 {
		r.look(r.polls[len(r.polls)-1].To)
	}
	v := Verdict{Check: "overlaps and tokens", Evidence: r.total, Need: need}
	for _, text := range sorted(r.found) {
		v.Violations = append(v.Violations, r.found[text])
	}
	return v
}
