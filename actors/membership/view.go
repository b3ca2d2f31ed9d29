package membership

import (
	"time"

	"leasehold/actors/leaseholder"
	"leasehold/eventlog"
	"leasehold/lease"
	"leasehold/planner"
)

// onMembers takes in looks at heartbeats.
func (m *machine) onMembers(looks []lease.Member, now time.Time) {
	for _, l := range looks {
		m.onMember(l, now)
	}
}

func (m *machine) onMember(l lease.Member, now time.Time) {
	change := m.fleet.see(l, now)
	switch change {
	case same:
		return
	case joined:
		m.log(eventlog.MemberJoined{Member: l.Instance, Members: m.fleet.size()})
	case left:
		m.log(eventlog.MemberLeft{Member: l.Instance, Members: m.fleet.size()})
	case expired:
		m.log(eventlog.MemberExpired{Member: l.Instance, Members: m.fleet.size()})
	case marked:
		if l.Instance == m.set.Instance {
			m.logCordon()
		}
	case cleared:
	}
	m.changedAt = now
	m.stale = true
}

// onList takes in a list of all heartbeats. A list without this node's own was
// made by a Redis that forgot: then nobody is missed before his own deadline.
func (m *machine) onList(list []lease.Member, now time.Time) {
	m.onMembers(list, now)
	if !m.listed {
		m.listed, m.stale = true, true
	}
	self := m.fleet.self.String()
	for _, l := range list {
		if l.Instance == self {
			m.out.check = append(m.out.check, m.fleet.missing(list)...)
			return
		}
	}
}

// onNodeSeen answers the hint that a heartbeat was written.
func (m *machine) onNodeSeen(instance string) {
	n, known := m.fleet.nodes[instance]
	if instance != m.fleet.self.String() && (!known || n.suspect) {
		m.out.check = append(m.out.check, instance)
	}
}

// onNodeGone answers the hint that a heartbeat went.
func (m *machine) onNodeGone(instance string) {
	if _, known := m.fleet.nodes[instance]; known {
		m.out.check = append(m.out.check, instance)
	}
}

// onNodeMarked answers the hint that something else is wanted of a node.
func (m *machine) onNodeMarked(instance string) {
	if _, known := m.fleet.nodes[instance]; known || instance == m.set.Instance {
		m.out.check = append(m.out.check, instance)
	}
}

func (m *machine) logCordon() {
	if m.fleet.cordon == lease.Open {
		m.log(eventlog.NodeUncordoned{})
		return
	}
	m.log(eventlog.NodeCordoned{Reason: string(m.fleet.cordon)})
}

// noteSurplus books whether a session is held here although another should have
// it.
func (m *machine) noteSurplus(id string, e *entry, now time.Time) {
	if c, ok := m.held[id]; ok && !c.leaving && !e.mine && e.owner != "" {
		if len(m.surplus) == 0 {
			m.surplusFrom = now
		}
		m.surplus[id], e.surplusAt = e, now
		return
	}
	delete(m.surplus, id)
}

// rebalance gives up sessions that another live node should have, once the view
// of the fleet and what the plan says of the session have stood still. While claims
// are under way, or a new plan is, what this node has too much is not known; where that is
// for new documents alone, which may never end, all plans of a reconcile interval tell. A session
// whose poll is in flight is left alone until the poll is over, or all leases were looked
// at: it could not go before, and minutes later the others may plan otherwise.
func (m *machine) rebalance(now time.Time) {
	if len(m.surplus) == 0 || m.draining || now.Before(m.changedAt.Add(settle)) {
		return
	}
	unsure := m.stale || m.planning
	patient := m.fits() && !now.Before(m.surplusFrom.Add(m.set.Reconcile))
	if len(m.asking) > 0 || m.drifted || unsure && !patient {
		return
	}
	for id, e := range m.surplus {
		if m.moving >= movesAtOnce {
			return
		}
		c, ok := m.held[id]
		switch {
		case !ok || c.leaving || e.mine:
			delete(m.surplus, id)
		case !m.fleet.takes(e.owner) || m.fleet.full(e.owner, now):
			// The next plan names another.
		case unsure && now.Before(e.surplusAt.Add(m.set.Reconcile)):
			// The next plan may leave it here.
		case now.Before(m.keptUntil(e)):
			m.wake(id, e, m.keptUntil(e), byPlan)
		case now.Before(e.surplusAt.Add(m.set.Reconcile)) && m.polling(id):
			m.wake(id, e, now.Add(settle), byPlan)
		default:
			c.moving = true
			m.moving++
			m.release(c, leaseholder.Rebalance)
		}
	}
}

// keptUntil is until when a session is not given up: the plan has to have stood still, and
// no owner that may hold off must leave it free for that long.
func (m *machine) keptUntil(e *entry) time.Time {
	return later(later(e.surplusAt.Add(settle), e.keptUntil), m.othersBarredUntil(e))
}

func (m *machine) polling(session string) bool {
	return m.set.Polling != nil && m.set.Polling(session)
}

// release has a child give its lease back.
func (m *machine) release(c *child, reason leaseholder.Reason) {
	c.leaving = true
	delete(m.surplus, c.session)
	m.out.tells = append(m.out.tells, tell{id: c.id, message: &leaseholder.Release{Reason: reason}})
}

// rank is how many nodes should try a session before this one: those that live and
// take sessions.
func (m *machine) rank(e *entry) int {
	if e.mine {
		return 0
	}
	nodes := m.fleet.live()
	rank := 1
	for _, i := range planner.Rank(e.name, nodes) {
		switch nodes[i].String() {
		case m.set.Instance:
			return rank
		case e.owner:
		default:
			if m.fleet.takes(nodes[i].String()) {
				rank++
			}
		}
	}
	return rank
}
