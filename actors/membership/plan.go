package membership

import (
	"time"

	"leasehold/planner"
)

// drift notes that somebody has a session that the plan gave to another: the next
// plan builds on that, so that nothing moves which need not.
func (m *machine) drift(e *entry, holder string) {
	if e.owner != "" && holder != e.owner && m.fleet.lives(holder) {
		m.drifted = true
	}
}

// planAt is when the next plan may be begun: not for half of a burst, not for every
// single lease that drifted, and where the members are the same half of the time at most
// is spent on plans.
func (m *machine) planAt() time.Time {
	at := m.arrivals.over()
	if !m.changedAt.After(m.madeFrom) {
		at = later(at, m.madeAt.Add(m.madeAt.Sub(m.madeFrom)))
	}
	if calm := m.plannedAt.Add(settle); !m.stale && calm.After(at) {
		return calm
	}
	return at
}

// planLater reports whether a plan waits for its time.
func (m *machine) planLater(now time.Time) bool {
	return m.planDue() && now.Before(m.planAt())
}

func (m *machine) planDue() bool {
	return (m.stale || m.drifted) && !m.planning && !m.draining && m.seen()
}

// startPlan has a new plan made when what is known has changed, one at a time.
func (m *machine) startPlan(now time.Time) {
	if !m.planDue() || now.Before(m.planAt()) {
		return
	}
	m.stale, m.drifted, m.planning = false, false, true
	m.plannedAt = now
	m.out.plan = m.input(now)
}

// input is what a plan is made of.
func (m *machine) input(now time.Time) *planInput {
	in := &planInput{planner.View{
		Nodes:    m.fleet.live(),
		Sessions: make([]planner.Name, 0, len(m.entries)),
		Present:  make([]int32, 0, len(m.entries)),
		Most:     make(map[int]int),
	}}
	index := make(map[string]int32, len(in.Nodes))
	for i, n := range in.Nodes {
		index[n.String()] = int32(i)
	}
	has := make([]int, len(in.Nodes))
	for id, e := range m.entries {
		if !e.session.Pollable() {
			continue
		}
		in.Sessions = append(in.Sessions, e.name)
		node, ok := index[m.holder(id, e, now)]
		if ok {
			has[node]++
		} else {
			node = planner.None
		}
		in.Present = append(in.Present, node)
	}
	for i, n := range in.Nodes {
		if most, limited := m.most(n.String(), has[i], now); limited {
			in.Most[i] = most
		}
	}
	return in
}

// most is how many sessions the plan may give to a node that has so many, if there is
// a limit.
func (m *machine) most(instance string, has int, now time.Time) (most int, limited bool) {
	if most, limited := m.fleet.cordonOf(instance).Most(has); limited {
		return most, true
	}
	if instance == m.set.Instance {
		return m.set.MaxSessions, m.set.MaxSessions > 0
	}
	return has, m.fleet.full(instance, now)
}

// holder returns who has a session for all that is known here; empty when it may
// be free. A node that the plan named takes it at once, though nothing says so before the
// next look: did the next plan count a session that just came as free, it would differ
// from that of the node which has it. One that was freed is another's for a while.
func (m *machine) holder(id string, e *entry, now time.Time) string {
	c, held := m.held[id]
	if held && !c.leaving || e.mine && m.asking[id] != nil {
		return m.set.Instance
	}
	if e.holder != "" && m.fleet.lives(e.holder) {
		return e.holder
	}
	if e.unbounded != "" {
		return "" // a lease that does not run out is seen, and nobody has taken it over
	}
	if e.mine && (e.peeking != "" || e.holder != "" && now.Before(e.heldUntil.Add(settle))) {
		return m.set.Instance // it waits for the end of the lease of a node that went
	}
	taken := e.freedAt.IsZero() || !now.Before(later(e.ownedAt, e.freedAt).Add(settle))
	if m.ready && e.owner != "" && !e.mine && m.fleet.lives(e.owner) && taken && !m.othersBarred(e, now) {
		return e.owner
	}
	return ""
}

// onPlan takes in a plan: owners holds, for each session, its node's index.
func (m *machine) onPlan(in *planInput, owners []int32, now time.Time) {
	m.planning = false
	m.madeFrom, m.madeAt = m.plannedAt, now
	for i, name := range in.Sessions {
		id := name.String()
		e, ok := m.entries[id]
		if !ok || owners[i] == planner.None {
			continue
		}
		owner := in.Nodes[owners[i]].String()
		if owner == e.owner {
			continue
		}
		former, isNew := e.owner, e.owner == ""
		e.owner, e.ownedAt, e.mine = owner, now, owner == m.set.Instance
		m.noteSurplus(id, e, now)
		switch {
		case e.mine && m.ready && !isNew && !m.fleet.lives(former):
			m.inherit(id, e, now)
		case e.mine && m.ready:
			m.consider(id, e, byPlan, now)
		case isNew:
			// The other may have read new documents in another order, and plan otherwise.
			m.fallBack(id, e, now)
		}
	}
	m.settleDown(now)
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// inherit tries a session of a node that went: its heartbeat ends before its leases do.
func (m *machine) inherit(id string, e *entry, now time.Time) {
	if m.mayClaim(id, e, byPlan, now) {
		m.peek(id, e, byPlan)
	}
}
