package sim

import (
	"slices"
	"time"
)

// due takes in when the session is due from now on.
func (s *start) due(at string, finished bool) {
	s.returned = s.returned || at == s.slot || s.slot == "0" && at == s.at
	s.open = s.open && !finished
}

// given checks which slot a start serves. That of a poll is given up with its start. That
// of a task stays due until a run was recorded, and nothing else is served before.
func (j *judge) given(l *ledger, slot string, token int64, wished bool) {
	s, data := l.start, j.byData(l, l.start.seen)
	repeated := !s.used && s.token == token // the answer was lost, and no poll followed
	// Somebody may want a run in the millisecond in which a slot is served.
	if s.slot == slot && slot != "0" && !s.returned && !repeated && (!wished || s.wished) {
		j.doubt(l, func() (string, bool) {
			if ever, _ := j.facts.task(l.id); ever && s.open {
				return "a task whose run was not recorded", true
			}
			return data()
		}, "slot", "%s was given to token %d and again to %d", slot, s.token, token)
	}
	due := s.slot
	if due == "0" { // a first run is due from its start on
		due = s.at
	}
	if s.open && slot != due && slot != "0" && !wished {
		j.doubt(l, func() (string, bool) {
			if _, always := j.facts.task(l.id); !always {
				return "not always a task", true
			}
			return data()
		}, "slot", "%s was given to token %d before a run for %s was recorded", slot, token, due)
	}
}

// stillborn is when a start was recorded last, after a poll and before the next, whose
// node was dead or stood still before it could poll, or had other trouble while all had
// not settled yet: that poll's slot is given up like that of a poll which died with its
// node. A task's stays due.
func (j *judge) stillborn(l *ledger, after, settled time.Time) (at time.Time) {
	if _, always := j.facts.task(l.id); always {
		return at
	}
	until := j.now()
	for _, p := range l.polls {
		if p.Start.After(after) {
			until = p.Start
			break
		}
	}
	for _, s := range append(slices.Clip(l.spent), l.start) {
		if s.used || s.by == "" || s.seen.Before(after) || s.seen.After(until) {
			continue
		}
		if s.seen.Before(settled) || j.still(s.by, s.seen) || j.still(s.by, until) {
			at = s.seen
		}
	}
	return at
}
