package check

import (
	"fmt"
	"time"

	"leasehold/lease"
	"leasehold/target"
)

// FailClosed finds polls that started after the deadline that Redis last gave to their
// lease: the poller had no renewal accepted in time. The evidence is polls with a
// deadline that was read no later than the tolerance after their start; a start may be
// as much late.
func FailClosed(h History, tolerance time.Duration, need int) Verdict {
	v := Verdict{Check: "fail closed", Need: need}
	byDeadlines(&v, h, func(p target.Record) time.Duration { return p.From + tolerance }, func(p target.Record, until time.Duration) {
		if p.From > until+tolerance {
			v.Violations = append(v.Violations, Overdue{Poll: p, Until: until})
		}
	})
	return v
}

// Outlasted finds polls that ended later than the margin before the deadline that Redis
// last gave to their lease: no poller may go on for longer. The evidence is polls with a
// deadline that was read before their end, which may be as much late as the tolerance.
func Outlasted(h History, margin, tolerance time.Duration, need int) Verdict {
	v := Verdict{Check: "outlasted", Need: need}
	byDeadlines(&v, h, func(p target.Record) time.Duration { return p.To }, func(p target.Record, until time.Duration) {
		if p.To > until-margin+tolerance {
			v.Violations = append(v.Violations, Outlasting{Poll: p, Until: until - margin})
		}
	})
	return v
}

// byDeadlines has each poll judged whose lease's deadline was read by a moment of it: the
// evidence.
func byDeadlines(v *Verdict, h History, by func(p target.Record) time.Duration, judge func(p target.Record, until time.Duration)) {
	samples := h.samples(Window{})
	sessions := h.bySession(Window{})
	for _, id := range sorted(sessions) {
		read := deadlines{samples: samples[id]}
		for _, p := range sessions[id] {
			if until, ok := read.of(p, by(p)); ok {
				v.Evidence++
				judge(p, until)
			}
		}
	}
}

// term is one ownership of one session.
type term struct {
	holder string
	token  lease.Token
}

// deadlines goes through sorted samples and keeps the latest deadline of each term.
type deadlines struct {
	samples []LeaseSample
	latest  map[term]time.Duration
}

// of returns the latest deadline of the poll's term that was read by then. It is asked
// for in the order of time.
func (d *deadlines) of(p target.Record, by time.Duration) (time.Duration, bool) {
	if d.latest == nil {
		d.latest = map[term]time.Duration{}
	}
	for len(d.samples) > 0 && d.samples[0].At <= by {
		s := d.samples[0]
		d.samples = d.samples[1:]
		if s.Until != 0 {
			t := term{s.Holder, s.Token}
			d.latest[t] = max(d.latest[t], s.Until)
		}
	}
	until, ok := d.latest[term{p.Instance, p.Token}]
	return until, ok
}

// Acquisitions finds tokens that did not rise by exactly one with each acquisition that
// the samples show or a node logged, or changed without one. The evidence is samples of
// held leases.
func Acquisitions(h History, w Window, need int) Verdict {
	v := Verdict{Check: "acquisitions", Need: need}
	samples := h.samples(w)
	logged := map[Acquisition]bool{}
	for _, a := range h.Logged {
		logged[a] = true
	}
	for _, id := range sorted(samples) {
		var last LeaseSample
		for _, s := range samples[id] {
			if s.Holder == "" || s.Token == 0 {
				continue
			}
			v.Evidence++
			same := s.Token == last.Token && s.Holder == last.Holder
			next := last.Token + 1
			for next < s.Token && logged[Acquisition{id, next}] {
				next++
			}
			if last.Token != 0 && !same && s.Token != next {
				v.Violations = append(v.Violations, Jump{From: last, To: s})
			}
			last = s
		}
	}
	return v
}

// Idle finds stretches of the window in which a session's lease named one holder that
// had no poll of it in flight and started none, for longer than the bound. The evidence
// is samples of held leases.
func Idle(h History, sessions []string, w Window, bound time.Duration, need int) Verdict {
	v := Verdict{Check: "idle", Need: need}
	samples, polls := h.samples(w), h.bySession(Window{})
	for _, id := range sessions {
		var holder string
		var since time.Duration
		for _, s := range samples[id] {
			if s.Holder != holder {
				holder, since = s.Holder, s.At
			}
			if holder == "" {
				continue
			}
			v.Evidence++
			since = max(since, lastActive(polls[id], holder, s.At))
			if s.At-since > bound {
				v.Violations = append(v.Violations, IdleHolder{Session: id, Holder: holder, Since: since, Bound: bound})
				since = s.At // each stretch once
			}
		}
	}
	return v
}

// lastActive is when the holder last had a poll in flight, up to the moment. A poll
// that lasts is active up to its end.
func lastActive(polls []target.Record, holder string, at time.Duration) time.Duration {
	var last time.Duration
	for _, p := range polls {
		if p.From > at {
			break
		}
		if p.Instance == holder {
			last = max(last, min(p.To, at))
		}
	}
	return last
}

// Overdue is a poll that started after its lease's deadline.
type Overdue struct {
	Poll  target.Record
	Until time.Duration
}

// Outlasting is a poll that went on after its lease could not be trusted any more.
type Outlasting struct {
	Poll  target.Record
	Until time.Duration
}

// Jump is a token that changed by something else than one acquisition.
type Jump struct{ From, To LeaseSample }

// IdleHolder is a holder that did not poll.
type IdleHolder struct {
	Session, Holder string
	Since, Bound    time.Duration
}

func (v Overdue) String() string {
	return fmt.Sprintf("%q: poll by %s, %s after its lease's deadline at %s",
		v.Poll.Session, poll(v.Poll), short(v.Poll.From-v.Until), short(v.Until))
}

func (v Outlasting) String() string {
	return fmt.Sprintf("%q: poll by %s, ended %s after its trust at %s",
		v.Poll.Session, poll(v.Poll), short(v.Poll.To-v.Until), short(v.Until))
}

func (v Jump) String() string {
	return fmt.Sprintf("%q: %s follows %s", v.From.Session, v.To, v.From)
}

func (v IdleHolder) String() string {
	return fmt.Sprintf("%q: %s holds the lease and does not poll for more than %s from %s",
		v.Session, v.Holder, short(v.Bound), short(v.Since))
}

func (Overdue) isViolation()    {}
func (Outlasting) isViolation() {}
func (Jump) isViolation()       {}
func (IdleHolder) isViolation() {}
