package membership

import (
	"time"

	"leasehold/lease"
	"leasehold/redisevents"
)

// onEvents answers hints. Each leads to a look or an attempt, none to a decision.
func (m *machine) onEvents(events []redisevents.Event, now time.Time) {
	for _, e := range events {
		m.onEvent(e, now)
	}
}

func (m *machine) onEvent(event redisevents.Event, now time.Time) {
	switch e := event.(type) {
	case redisevents.LeaseFreed:
		m.onLeaseFreed(e, now)
	case redisevents.LeaseTaken: // is not asked for
	case redisevents.NodeSeen:
		m.onNodeSeen(e.Instance)
	case redisevents.NodeGone:
		m.onNodeGone(e.Instance)
	case redisevents.NodeMarked:
		m.onNodeMarked(e.Instance)
	case redisevents.SessionTouched:
		m.onTouched(e.ID, now)
	case redisevents.Gap:
		m.onGap(e, now)
	}
}

// onTouched answers the hint that a document was written, or went.
func (m *machine) onTouched(id string, now time.Time) {
	m.out.fetch = append(m.out.fetch, id)
	if e, ok := m.entries[id]; ok {
		e.touchedAt = now
	}
}

// onGap looks at everything.
func (m *machine) onGap(g redisevents.Gap, now time.Time) {
	m.out.list, m.out.scan = true, true
	if g.Server != "" && (g.Restarted || m.server == "") { // else it is news that an answer tells
		m.server = g.Server
	}
	if g.Restarted {
		m.onServerChanged(now)
	}
}

// onServerChanged follows the news that the server is new or was started anew. It may
// have forgotten leases: their holders say so at once, all others wait, and nodes that
// start are told.
func (m *machine) onServerChanged(now time.Time) {
	m.out.renew = true
	m.forgot("Redis was restarted or replaced", now, now)
	m.out.noteLoss = m.longestHold()
}

// noteServer follows the name of the server that answered a claim: events tell of
// another server only once they are back, and a claim can be quicker. One that was sent
// before the last news, or was refused, may name the server before.
func (m *machine) noteServer(outcomes []lease.Outcome, sent, now time.Time) {
	for _, o := range outcomes {
		if o.Err != nil || o.Server == "" || o.Server == m.server || !sent.After(m.forgotAt) {
			continue
		}
		if m.server != "" {
			m.out.list, m.out.scan = true, true
			m.onServerChanged(now)
		}
		m.server = o.Server
	}
}
