package membership

import (
	"time"

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
	case redisevents.SessionTouched:
		m.out.fetch = append(m.out.fetch, e.ID)
	case redisevents.Gap:
		m.onGap(e, now)
	}
}

// onGap looks at everything. A server that is new or was started anew may have
// forgotten leases: their holders say so at once, all others wait: see hold. The
// wait counts from now, whatever the server's uptime: a promoted replica has been
// up for long.
func (m *machine) onGap(g redisevents.Gap, now time.Time) {
	m.out.list, m.out.scan = true, true
	if !g.Restarted {
		return
	}
	m.out.renew = true
	m.forgotAt = now
}
