package membership

import (
	"time"

	"leasehold/eventlog"
)

// loss is whether Redis lost data before this node could see it. A node that was there
// compares the server with the one before; one that starts has nothing to compare with, and
// asks, before its first claims, whether somebody has noted a loss.
type loss struct {
	told   bool      // there was an answer
	asking bool      // it is on its way
	misses int       // questions in a row without an answer
	since  time.Time // the first of them
	askAt  time.Time // when to ask again
}

// toldOfLoss reports whether claims may be made for all that is known of losses, and asks
// where it is not known. Where nobody answers, whatever was polled when it was first asked
// has ended after the longest hold.
func (m *machine) toldOfLoss(now time.Time) bool {
	l := &m.loss
	if l.told || !m.forgotAt.IsZero() || l.misses > 0 && !now.Before(l.since.Add(m.longestHold())) {
		return true
	}
	if !l.asking && !now.Before(l.askAt) {
		l.asking, m.out.asksLoss = true, true
	}
	return false
}

// onLoss takes in the answer to a question that was asked at asked: after a loss that others
// saw so long ago, what they have is theirs to claim anew, as if this node had seen it with
// them.
func (m *machine) onLoss(ago time.Duration, noted bool, err error, asked, now time.Time) {
	l := &m.loss
	l.asking = false
	if err != nil {
		if l.misses == 0 {
			l.since = asked
			m.log(eventlog.ClaimsHeldOff{Reason: "whether Redis lost data is not known", Err: err, Duration: m.longestHold()})
		}
		l.askAt = now.Add(growing(l.misses))
		l.misses++
		return
	}
	l.told = true
	if noted && m.forgotAt.IsZero() {
		m.forgot("others saw that Redis may have lost data", now.Add(-ago), now)
	}
}

// forgot has all that others may have had at a moment wait: see hold. The wait counts from
// when the loss was seen, whatever the server's uptime: a promoted replica has been up for
// long.
func (m *machine) forgot(reason string, at, now time.Time) {
	m.forgotAt = at
	m.lookAt = later(m.lookAt, at.Add(m.set.TTL+newcomer))
	m.log(eventlog.ClaimsHeldOff{Reason: reason, Duration: at.Add(m.set.TTL).Sub(now)})
}

// longestHold is how long nodes that start are told of a loss.
func (m *machine) longestHold() time.Duration {
	longest := m.set.TTL
	for _, e := range m.entries {
		longest = max(longest, m.hold(e))
	}
	return longest
}
