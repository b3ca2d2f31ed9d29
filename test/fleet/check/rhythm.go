package check

import (
	"time"

	"leasehold/target"
)

// Gaps finds stretches of the window without a start of a poll that are longer than
// the bound, from the window's beginning and to its end included. A stretch that a
// fault touches may be longer by what the fault allows. The evidence is polls, and none
// if the window is not longer than the bound.
func Gaps(h History, sessions []string, w Window, bound time.Duration, need int) Verdict {
	v := Verdict{Check: "gaps", Need: need}
	polls := h.bySession(w)
	if w.To-w.From <= bound {
		return v
	}
	for _, id := range sessions {
		last := w.From
		v.Evidence += len(polls[id])
		for _, p := range append(polls[id], target.Record{From: w.To}) {
			allowed := bound + h.allowance(last, p.From)
			if p.From-last > allowed {
				v.Violations = append(v.Violations, Gap{Session: id, From: last, To: p.From, Bound: allowed})
			}
			last = p.From
		}
	}
	return v
}

func (h History) allowance(from, to time.Duration) time.Duration {
	var d time.Duration
	for _, f := range h.Faults {
		if f.From < to && f.To > from {
			d += f.Allow
		}
	}
	return d
}

// Resumed finds sessions whose first poll after the moment came later than the bound.
// The evidence is polls within the bound.
func Resumed(h History, sessions []string, after, bound time.Duration, need int) Verdict {
	v := Verdict{Check: "resumed", Need: need}
	polls := h.bySession(Window{})
	for _, id := range sessions {
		var first time.Duration
		for _, p := range polls[id] {
			if p.From > after {
				first = p.From
				break
			}
		}
		if first == 0 || first-after > bound {
			v.Violations = append(v.Violations, Late{Session: id, After: after, Bound: bound, First: first})
			continue
		}
		v.Evidence++
	}
	return v
}

// Rhythm finds sessions that were not polled once an interval in the window: too often,
// not often enough, or again too soon after a poll that was answered with 2xx. Starts
// may be off by the slack, and an interval longer by a fiftieth: sessions that came
// together drift apart (docs/adr/0009). The evidence is polls, and none without an interval.
func Rhythm(h History, sessions []string, w Window, interval, slack time.Duration, need int) Verdict {
	v := Verdict{Check: "rhythm", Need: need}
	if interval <= 0 {
		return v
	}
	polls := h.bySession(w)
	length := w.To - w.From
	low := int(max(0, length-slack) / (interval + interval/50))
	high := int((length+slack)/interval) + 1
	for _, id := range sessions {
		got := polls[id]
		v.Evidence += len(got)
		if len(got) < low || len(got) > high {
			v.Violations = append(v.Violations, Count{Session: id, Got: len(got), Low: low, High: high})
		}
		for i := 1; i < len(got); i++ {
			if answered(got[i-1]) && got[i].From-got[i-1].From < interval-slack {
				v.Violations = append(v.Violations, TooSoon{First: got[i-1], Second: got[i], Least: interval - slack})
			}
		}
	}
	return v
}

func answered(p target.Record) bool {
	return p.Status >= 200 && p.Status <= 299 && !p.Gone
}
