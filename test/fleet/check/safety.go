package check

import (
	"slices"
	"time"

	"leasehold/lease"
	"leasehold/target"
)

// OwnerTolerance is how near to a poll's start a sample must show its owner.
const OwnerTolerance = 200 * time.Millisecond

// Safety is what holds in every history, whatever the faults: Overlaps, Tokens and
// Owners, each with at least need polls.
func Safety(h History, need int) error {
	return All(Overlaps(h, need), Tokens(h, need), Owners(h, OwnerTolerance, need))
}

// Overlaps finds polls of one session that were in flight at once. That a
// client gave a poll up is seen a little late: a later poll may have started up to
// target.GoneGrace before that.
// The evidence is polls.
func Overlaps(h History, need int) Verdict {
	v := Verdict{Check: "overlaps", Evidence: len(h.Polls), Need: need}
	sessions := h.bySession(Window{})
	for _, id := range sorted(sessions) {
		var open []target.Record
		for _, p := range sessions[id] {
			open = slices.DeleteFunc(open, func(o target.Record) bool { return o.To <= p.From })
			for _, o := range open {
				if d, bad := overlap(o, p); bad {
					v.Violations = append(v.Violations, Overlap{First: o, Second: p, For: d})
				}
			}
			open = append(open, p)
		}
	}
	return v
}

// overlap judges two polls that were in flight at once, in the order of their starts.
// Nothing excuses the later one.
func overlap(a, b target.Record) (time.Duration, bool) {
	forgiven := a.Gone && a.To-b.From <= target.GoneGrace
	return min(a.To, b.To) - b.From, !forgiven
}

// Blur is how exactly the target's starts order requests of different connections: one
// that was sent and given up may be read a little after the next one's.
const Blur = target.GoneGrace

// Tokens finds polls that a stale owner sent: none starts later than Blur after one with
// a newer token of its session, and a token has one instance. The evidence is polls.
func Tokens(h History, need int) Verdict {
	v := Verdict{Check: "tokens", Evidence: len(h.Polls), Need: need}
	sessions := h.bySession(Window{})
	for _, id := range sorted(sessions) {
		v.Violations = append(v.Violations, tokens(sessions[id])...)
	}
	return v
}

func tokens(polls []target.Record) []Violation {
	var found []Violation
	var rising []target.Record // the first poll of each token that was the newest
	first := map[lease.Token]target.Record{}
	for _, p := range polls {
		if p.Token <= 0 || p.Instance == "" {
			found = append(found, Unnamed{Poll: p})
			continue
		}
		if newer, ok := overtaken(rising, p); ok && p.From-newer.From > Blur {
			found = append(found, StaleToken{Poll: p, Newer: newer})
		} else if !ok && (len(rising) == 0 || p.Token > rising[len(rising)-1].Token) {
			rising = append(rising, p)
		}
		if f, ok := first[p.Token]; !ok {
			first[p.Token] = p
		} else if f.Instance != p.Instance {
			found = append(found, SharedToken{First: f, Second: p})
		}
	}
	return found
}

// overtaken returns the first poll with a newer token than p's.
func overtaken(rising []target.Record, p target.Record) (target.Record, bool) {
	i := slices.IndexFunc(rising, func(r target.Record) bool { return r.Token > p.Token })
	if i < 0 {
		return target.Record{}, false
	}
	return rising[i], true
}

// Owners finds polls that started while the lease was another's, or had another token:
// no sample within the tolerance of the start shows the poller, and it can't have had the
// lease between two of them either. The evidence is polls with such a sample near.
func Owners(h History, tolerance time.Duration, need int) Verdict {
	v := Verdict{Check: "owners", Need: need}
	samples := h.samples(Window{})
	sessions := h.bySession(Window{})
	for _, id := range sorted(sessions) {
		for _, p := range sessions[id] {
			near := around(samples[id], p.From, tolerance)
			if len(near) == 0 || younger(near, p) {
				continue
			}
			v.Evidence++
			if !slices.ContainsFunc(near, func(s LeaseSample) bool { return owns(s, p) }) && !unseen(near, p, tolerance) {
				v.Violations = append(v.Violations, WrongOwner{Poll: p, Near: near})
			}
		}
	}
	return v
}

func owns(s LeaseSample, p target.Record) bool {
	return s.Holder == p.Instance && (s.Token == 0 || s.Token == p.Token)
}

// unseen reports whether the lease came and went between two samples, one before and one
// after the start: the token was given out since the first, and was gone at the second.
// Without a first, as while Redis was away, it was given out within the tolerance.
func unseen(near []LeaseSample, p target.Record, tolerance time.Duration) bool {
	next := slices.IndexFunc(near, func(s LeaseSample) bool { return s.At >= p.From })
	if next < 0 {
		return false
	}
	after := near[next]
	if next > 0 {
		return givenSince(near[next-1], p.Token) && goneBy(after, p.Token)
	}
	given := after.At - time.Duration(after.Clock-p.Token)*time.Microsecond
	return after.Clock > 0 && p.From-tolerance <= given && given <= p.From+blink && goneBy(after, p.Token)
}

// blink is how long after its reading was sent Redis may read its clock.
const blink = 10 * time.Millisecond

// younger reports whether the token was given out since the last sample before the poll,
// and nobody looked after: a busy machine's samples can be far apart.
func younger(near []LeaseSample, p target.Record) bool {
	last := near[len(near)-1]
	return last.At <= p.From && givenSince(last, p.Token)
}

// givenSince reports whether the token is younger than the sample. Where there was no
// counter, a new one has started with the time of Redis.
func givenSince(s LeaseSample, token lease.Token) bool {
	if s.Token == 0 && s.Holder == "" {
		return s.Clock > 0 && s.Clock < token
	}
	return s.Token > 0 && s.Token < token
}

// goneBy reports whether the token's lease had ended at the sample, where the counter of
// a removed session is gone too.
func goneBy(s LeaseSample, token lease.Token) bool {
	return s.Token > token || s.Holder == "" && (s.Token == token || s.Token == 0)
}

// around returns the sorted samples that are no further from the moment than d.
func around(samples []LeaseSample, at, d time.Duration) []LeaseSample {
	low, _ := slices.BinarySearchFunc(samples, at-d, sampledAt)
	high, _ := slices.BinarySearchFunc(samples, at+d+1, sampledAt)
	return samples[low:high]
}

func sampledAt(s LeaseSample, at time.Duration) int {
	switch {
	case s.At < at:
		return -1
	case s.At > at:
		return 1
	}
	return 0
}
