package check

import (
	"maps"
	"slices"
	"time"

	"leasehold/lease"
	"leasehold/target"
)

// Steady finds sessions that more than one instance polled in the window. The evidence
// is polls of the sessions named.
func Steady(h History, sessions []string, w Window, need int) Verdict {
	v := Verdict{Check: "steady", Need: need}
	polls := h.bySession(w)
	for _, id := range sessions {
		v.Evidence += len(polls[id])
		instances := map[string]bool{}
		for _, p := range polls[id] {
			instances[p.Instance] = true
		}
		if len(instances) > 1 {
			v.Violations = append(v.Violations, Moved{Session: id, Instances: sorted(instances)})
		}
	}
	return v
}

// AcquiredOnce finds sessions that had more than one token in the window, by their
// polls and their samples. The evidence is sessions with a token.
func AcquiredOnce(h History, sessions []string, w Window, need int) Verdict {
	v := Verdict{Check: "acquired once", Need: need}
	polls, samples := h.bySession(w), h.samples(w)
	for _, id := range sessions {
		tokens := map[lease.Token]bool{}
		for _, p := range polls[id] {
			tokens[p.Token] = true
		}
		for _, s := range samples[id] {
			if s.Holder != "" {
				tokens[s.Token] = true
			}
		}
		delete(tokens, 0)
		if len(tokens) > 0 {
			v.Evidence++
		}
		if len(tokens) > 1 {
			v.Violations = append(v.Violations, Reacquired{Session: id, Tokens: slices.Sorted(maps.Keys(tokens))})
		}
	}
	return v
}

// Spread finds rounds of samples in the window in which a session was not leased to one
// of the nodes, or two nodes' numbers of leases differed by more than most. The evidence
// is complete rounds, those with a sample of every session.
func Spread(h History, sessions, nodes []string, w Window, most, need int) Verdict {
	v := Verdict{Check: "spread", Need: need}
	rounds := map[time.Duration]map[string]LeaseSample{}
	for _, s := range h.Leases {
		if !w.has(s.At) || !slices.Contains(sessions, s.Session) {
			continue
		}
		if rounds[s.At] == nil {
			rounds[s.At] = map[string]LeaseSample{}
		}
		rounds[s.At][s.Session] = s
	}
	for _, at := range slices.Sorted(maps.Keys(rounds)) {
		if len(rounds[at]) < len(sessions) {
			continue
		}
		v.Evidence++
		v.Violations = append(v.Violations, uneven(at, rounds[at], nodes, most)...)
	}
	return v
}

func uneven(at time.Duration, round map[string]LeaseSample, nodes []string, most int) []Violation {
	var found []Violation
	counts := make(map[string]int, len(nodes))
	for _, node := range nodes {
		counts[node] = 0
	}
	for _, id := range sorted(round) {
		if _, ok := counts[round[id].Holder]; !ok {
			found = append(found, Unleased{Sample: round[id]})
			continue
		}
		counts[round[id].Holder]++
	}
	if len(counts) == 0 {
		return found
	}
	loads := slices.Sorted(maps.Values(counts))
	if loads[len(loads)-1]-loads[0] > most {
		found = append(found, Uneven{At: at, Counts: counts, Most: most})
	}
	return found
}

// Move is a session that went from one instance to another.
type Move struct {
	Session  string
	From, To string
	// Left is the last fact with the old instance, Taken the first with the new one.
	Left, Taken time.Duration
}

// PollMoves returns the moves that polls show: from the end of the old instance's last
// poll to the start of the new one's first. In the order of sessions, then of time.
func PollMoves(h History, w Window) []Move {
	var moves []Move
	polls := h.bySession(w)
	for _, id := range sorted(polls) {
		moves = append(moves, moved(polls[id], func(a, b target.Record) (Move, bool) {
			return Move{Session: id, From: a.Instance, To: b.Instance, Left: a.To, Taken: b.From}, a.Instance != b.Instance
		})...)
	}
	return moves
}

// LeaseMoves returns the moves that samples show, free leases left out, likewise.
func LeaseMoves(h History, w Window) []Move {
	var moves []Move
	samples := h.samples(w)
	for _, id := range sorted(samples) {
		held := slices.DeleteFunc(samples[id], func(s LeaseSample) bool { return s.Holder == "" })
		moves = append(moves, moved(held, func(a, b LeaseSample) (Move, bool) {
			return Move{Session: id, From: a.Holder, To: b.Holder, Left: a.At, Taken: b.At}, a.Holder != b.Holder
		})...)
	}
	return moves
}

func moved[T any](facts []T, between func(a, b T) (Move, bool)) []Move {
	var moves []Move
	for i := 1; i < len(facts); i++ {
		if m, ok := between(facts[i-1], facts[i]); ok {
			moves = append(moves, m)
		}
	}
	return moves
}
