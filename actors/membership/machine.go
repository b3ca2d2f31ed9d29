package membership

import (
	"time"

	"leasehold/actors/leaseholder"
	"leasehold/eventlog"
	"leasehold/lease"
	"leasehold/planner"
)

// machine decides what a node claims, keeps and gives up. It knows no actor and
// no I/O: every method takes the time and leaves its wishes in out.
type machine struct {
	set Settings

	fleet    fleet
	entries  map[string]*entry    // usable documents, by session
	invalid  map[string]fault     // documents that can't be used, by session
	gone     map[string]time.Time // when documents were last read as absent
	children map[uint64]*child
	held     map[string]*child // by session
	agenda   agenda
	lastID   uint64 // of the last child

	// Phases of the node's life.
	started  time.Time
	deaf     bool      // no events arrive
	scanned  bool      // the catalog was read once
	partAt   time.Time // when a part of it last led to a look at all leases
	listed   bool      // the fleet was read once
	looked   bool      // the leases were read once
	lookedAt time.Time // when they were read last, all of them
	ready    bool      // claims may be made
	fenced   bool
	draining bool

	// changedAt is when the set of members last changed.
	changedAt time.Time
	// forgotAt is when Redis may have forgotten leases: sessions of others are not
	// claimed for a while.
	forgotAt time.Time
	server   string // its present life, as far as it tells
	loss     loss
	// pauses has the places of leases that do not answer claims; place tells that of a
	// session.
	pauses map[string]pause
	place  func(session string) string
	// lookAt is when all leases should have holders again, after a start or a restart of
	// Redis: what is not known by then is looked at.
	lookAt time.Time

	arrivals  burst
	stale     bool // the plan does not fit the view
	drifted   bool // somebody has a session that the plan gave to another
	planning  bool
	plannedAt time.Time // when the last plan was begun
	// madeFrom and madeAt are when the plan that counts was begun and ready.
	madeFrom, madeAt time.Time
	surplus          map[string]*entry // held here, but another should have them
	surplusFrom      time.Time         // since when there is any

	asking  map[string]*ask // acquires in flight, by session
	moving  int             // sessions being given up for balance
	handing map[string]int  // releases under way without a leaseholder, by session
	// left are leases that ended here without a release that Redis accepted, by session,
	// until somebody has it or it is given back.
	left  map[string]lease.Token
	burnt map[string]burnt // by session

	out orders
}

// orders is what the machine wants done.
type orders struct {
	claims []lease.Claim
	spawns []spawn
	tells  []tell
	back   []lease.Release // grants to give back, or state to forget
	look   []string        // leases
	peek   []string        // leases of sessions whose turn it is here
	fetch  []string        // documents
	check  []string        // heartbeats
	list   bool            // all heartbeats
	scan   bool            // all documents
	renew  bool            // all own leases, at once
	plan   *planInput
	// asksLoss asks whether somebody noted a loss of data, noteLoss notes one for so long.
	asksLoss bool
	noteLoss time.Duration
	logs     []eventlog.Event
}

type spawn struct {
	id  uint64
	cfg leaseholder.Config
}

type tell struct {
	id      uint64
	message leaseholder.Message
}

type planInput struct{ planner.View }

func newMachine(set Settings, now time.Time) *machine {
	return &machine{
		set:       set,
		fleet:     newFleet(set.Instance),
		entries:   make(map[string]*entry),
		invalid:   make(map[string]fault),
		gone:      make(map[string]time.Time),
		asking:    make(map[string]*ask),
		handing:   make(map[string]int),
		left:      make(map[string]lease.Token),
		burnt:     make(map[string]burnt),
		children:  make(map[uint64]*child),
		held:      make(map[string]*child),
		surplus:   make(map[string]*entry),
		pauses:    make(map[string]pause),
		place:     func(string) string { return "" },
		started:   now,
		changedAt: now,
		out:       orders{list: true, scan: true},
	}
}

// take returns the orders and forgets them.
func (m *machine) take() orders {
	out := m.out
	m.out = orders{}
	return out
}

func (m *machine) log(e eventlog.Event) { m.out.logs = append(m.out.logs, e) }

// ttl returns the TTL of a session's lease.
func (m *machine) ttl(e *entry) time.Duration {
	if e.session.LeaseTTL > 0 {
		return e.session.LeaseTTL
	}
	return m.set.TTL
}

// onTime does what has become due. The actor calls it after every message.
func (m *machine) onTime(now time.Time) {
	m.settleDown(now)
	if names := m.fleet.due(now); len(names) > 0 {
		m.out.check = append(m.out.check, names...)
	}
	for {
		i, ok := m.agenda.take(now)
		if !ok {
			break
		}
		e, ok := m.entries[i.id]
		if !ok || !e.wakeAt.Equal(i.at) || e.wakeWhy != i.why {
			continue // another appointment counts
		}
		e.wakeAt = time.Time{}
		m.consider(i.id, e, i.why, now)
	}
	m.lookAtUnknown(now)
	m.drifted = m.fleet.reopen(now) || m.drifted
	m.rebalance(now)
	m.startPlan(now)
}

// next returns when onTime has something to do; zero for never.
func (m *machine) next(now time.Time) time.Time {
	first := m.fleet.next()
	earlier := func(at time.Time) {
		if !at.IsZero() && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	earlier(m.agenda.next())
	switch {
	case m.ready:
		earlier(m.lookAt)
	case m.loss.asking: // its answer comes first
	case m.informed(): // else an answer comes first
		earlier(later(m.readyAt(), m.loss.askAt))
	case m.fits():
		earlier(later(m.readyAt().Add(settle), m.loss.askAt))
	}
	if m.planLater(now) {
		earlier(m.planAt())
	}
	if len(m.surplus) > 0 && now.Before(m.changedAt.Add(settle)) {
		earlier(m.changedAt.Add(settle))
	}
	return first
}

// readyAt is when the first claims may be made: nodes that start together should
// see each other first.
func (m *machine) readyAt() time.Time {
	at, most := m.changedAt.Add(settle), m.started.Add(settleMost)
	if at.After(most) {
		return most
	}
	return at
}

// seen reports whether fleet, sessions and leases are known.
func (m *machine) seen() bool { return m.scanned && m.listed && m.looked }

// informed reports whether there is a plan that fits what is known.
func (m *machine) informed() bool { return m.seen() && !m.stale && !m.planning }

// fits reports whether there is a plan of the members and leases that are known, though
// documents may have changed since: with many they may do so faster than plans are made.
func (m *machine) fits() bool {
	return m.seen() && !m.madeFrom.IsZero() && !m.madeFrom.Before(later(m.changedAt, m.lookedAt))
}

// settleDown makes the node ready once it knows the fleet and the sessions.
func (m *machine) settleDown(now time.Time) {
	patient := m.fits() && !now.Before(m.readyAt().Add(settle))
	if m.ready || !m.informed() && !patient || now.Before(m.readyAt()) {
		return
	}
	if m.fleet.size() > 1 && m.lookedAt.Before(m.readyAt()) {
		// The others may have begun to claim since: what is theirs by now is not tried.
		m.lookFirst(now)
		m.stale = true
		return
	}
	if !m.toldOfLoss(now) {
		return
	}
	m.ready = true
	m.lookAt = later(m.lookAt, now.Add(newcomer))
	m.considerMine(now)
	// The others may have become ready with this node: their turns count from now.
	for id, e := range m.entries {
		switch {
		case e.mine:
		case e.doubtful(now):
			m.consider(id, e, byPlan, now)
		case e.holder == "":
			m.fallBack(id, e, now)
		}
	}
}

// considerMine looks at every session that the plan gives to this node.
func (m *machine) considerMine(now time.Time) {
	for id, e := range m.entries {
		if e.mine {
			m.consider(id, e, byPlan, now)
		}
	}
}

// wake makes an appointment with a session, unless an earlier one stands that does
// as well. Only a fallback leads anywhere while the plan names another node.
func (m *machine) wake(id string, e *entry, at time.Time, why trigger) {
	useless := why == byFallback && e.wakeWhy != byFallback && !e.mine
	if !e.wakeAt.IsZero() && !at.Before(e.wakeAt) && !useless {
		return
	}
	e.wakeAt, e.wakeWhy = at, why
	m.agenda.add(item{at: at, id: id, why: why})
}

// onFenced follows the node's own heartbeat: without it nothing is claimed.
func (m *machine) onFenced(fenced bool, now time.Time) {
	again := m.fenced && !fenced
	m.fenced = fenced
	if again {
		// While it was cut off it may have seen the others go, who are coming back
		// like it: it settles as at a start, lest the first one takes everything.
		m.started, m.changedAt = now, now
		m.ready, m.listed = false, false
		m.out.list = true
		m.lookFirst(now)
	}
}

// onDrain gives everything up.
func (m *machine) onDrain() {
	m.draining = true
	for _, c := range m.children {
		m.release(c, leaseholder.Shutdown)
	}
}

// drained reports whether nothing is held and nothing under way.
func (m *machine) drained() bool {
	return m.draining && len(m.children) == 0 && len(m.asking) == 0 && len(m.handing) == 0
}
