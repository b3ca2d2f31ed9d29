package membership

import "time"

// loss is whether Redis lost data before this node could see it. A node that was there
// compares the server with the one before; one that starts has nothing to compare with, and
// asks, before its first claims, whether somebody has noted a loss.
type loss struct {
	told   bool      // there was an answer
	asking bool      // it is on its way
	misses int       // questions in a row without an answer
	askAt  time.Time // when to ask again
}

// toldOfLoss reports whether claims may be made for all that is known of losses, and asks
// where it is not known. Whatever was polled when this node started has ended after a TTL.
func (m *machine) toldOfLoss(now time.Time) bool {
	l := &m.loss
	if l.told || !m.forgotAt.IsZero() || !now.Before(m.started.Add(m.set.TTL)) {
		return true
	}
	if !l.asking && !now.Before(l.askAt) {
		l.asking, m.out.asksLoss = true, true
	}
	return false
}

// onLoss takes in the answer: after a loss that others saw, what they have is theirs to
// claim anew, as if this node had seen it.
func (m *machine) onLoss(noted bool, err error, now time.Time) {
	l := &m.loss
	l.asking = false
	if err != nil {
		l.askAt = now.Add(growing(l.misses))
		l.misses++
		return
	}
	l.told = true
	if noted && m.forgotAt.IsZero() {
		m.forgot(now)
	}
}

// forgot has all that others may have had wait: see hold. The wait counts from now,
// whatever the server's uptime: a promoted replica has been up for long.
func (m *machine) forgot(now time.Time) {
	m.forgotAt = now
	m.lookAt = later(m.lookAt, now.Add(m.set.TTL+newcomer))
}

// longestHold is how long nodes that start are told of a loss.
func (m *machine) longestHold() time.Duration {
	longest := m.set.TTL
	for _, e := range m.entries {
		longest = max(longest, m.hold(e))
	}
	return longest
}
