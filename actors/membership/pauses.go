package membership

import (
	"time"

	"leasehold/eventlog"
	"leasehold/lease"
)

// pause puts off the claims of a place that does not answer.
type pause struct {
	misses int // claims in a row without an answer
	until  time.Time
}

func (m *machine) pauseOf(id string) pause {
	if len(m.pauses) == 0 {
		return pause{}
	}
	return m.pauses[m.place(id)]
}

// endPauses follows claims that were answered.
func (m *machine) endPauses(outcomes []lease.Outcome) {
	for _, o := range outcomes {
		if len(m.pauses) > 0 && !lease.Unknown(o.Err) {
			delete(m.pauses, m.place(o.Session))
		}
	}
}

// onUnanswered pauses all claims of a place for a growing while. The first of an outage is
// logged, the others would say the same: they are at debug. Redis may have carried the claim out: it is
// repeated whatever the plan says by then, lest this node holds what it does not poll.
func (m *machine) onUnanswered(o lease.Outcome, e *entry, a *ask, now time.Time) {
	p := m.pauseOf(o.Session)
	if now.Sub(p.until) > m.set.TTL { // of an outage that is over: the place had no claims since
		p = pause{}
	}
	repeat := p.misses > 0
	m.log(eventlog.LeaseAcquireFailed{Session: o.Session, Trigger: string(a.why), Err: o.Err, Repeat: repeat})
	if !now.Before(p.until) {
		p = pause{misses: p.misses + 1, until: now.Add(growing(p.misses))}
		m.pauses[m.place(o.Session)] = p
	}
	e.doubtUntil = now.Add(a.ttl)
	m.wake(o.Session, e, p.until, a.why)
}

// claims reports whether claims of a place may be sent: not while the node is fenced or
// draining, nor while the place does not answer, since those that wait would have no answer
// either.
func (m *machine) claims(place string, now time.Time) bool {
	return !m.fenced && !m.draining && !now.Before(m.pauses[place].until)
}

// onUnsent takes claims back that were never sent, until a pause is over.
func (m *machine) onUnsent(claims []lease.Claim, now time.Time) {
	for _, c := range claims {
		at := later(m.pauseOf(c.Session).until, now)
		a := m.asking[c.Session]
		delete(m.asking, c.Session)
		if e, ok := m.entries[c.Session]; ok {
			m.wake(c.Session, e, at, a.why)
		}
	}
}

// growing is the wait after so many failures: 250 ms, 500 ms, 1 s, 2 s.
func growing(failures int) time.Duration {
	return min(mostPause, firstPause<<min(failures, 8))
}
