package membership

import (
	"maps"
	"slices"
	"strings"
	"time"

	"leasehold/lease"
	"leasehold/planner"
)

// longAgo is after how many of its times as full a node that let a session pass starts
// afresh: one that has no room does so soon after each.
const longAgo = 3

// roundTrip is more than a look at a heartbeat takes.
const roundTrip = 100 * time.Millisecond

// node is another node as seen from here.
type node struct {
	name     planner.Name
	deadline time.Time // of its heartbeat, as last read
	lookAt   time.Time // when to read it again
	misses   int       // looks in a row that had no answer
	// suspect excludes the node from the plan until its heartbeat is renewed: a
	// lease of its ran out. beat is the heartbeat's deadline as first read since.
	suspect bool
	beat    time.Time
	// fullUntil is how long the node counts as full: it did not take a session that
	// the plan gave it. Zero when it does not. keep is how long that lasted.
	fullUntil  time.Time
	keep       time.Duration
	declinedAt time.Time
	seen       time.Time // first
	cordon     lease.Cordon
}

func (n *node) read(deadline time.Time) {
	n.deadline, n.lookAt, n.misses = deadline, deadline.Add(touchAfter), 0
}

// fleet is the view of who lives. This node always counts itself.
type fleet struct {
	self   planner.Name
	cordon lease.Cordon // of this node
	nodes  map[string]*node
}

func newFleet(instance string) fleet {
	return fleet{self: planner.NewName(instance), nodes: make(map[string]*node)}
}

// change is what a look did to the view.
type change int

const (
	same change = iota
	joined
	left    // its heartbeat was removed
	expired // its heartbeat ran out
	cleared // it is no longer suspect
	marked  // its cordon is another
)

// see takes in one look at a heartbeat.
func (f *fleet) see(m lease.Member, now time.Time) change {
	if m.Instance == f.self.String() {
		return f.mark(&f.cordon, m.Cordon)
	}
	if m.Instance == "" {
		return same
	}
	known, ok := f.nodes[m.Instance]
	switch {
	case m.Remaining <= 0 && !ok:
		return same
	case m.Remaining <= 0:
		delete(f.nodes, m.Instance)
		// The deadline was reckoned from when its reading was heard, so it is late by
		// a round trip.
		if now.Before(known.deadline.Add(-roundTrip)) {
			return left
		}
		return expired
	case !ok:
		known = &node{name: planner.NewName(m.Instance), seen: now, cordon: m.Cordon}
		known.read(now.Add(m.Remaining))
		f.nodes[m.Instance] = known
		return joined
	}
	known.read(now.Add(m.Remaining))
	change := f.mark(&known.cordon, m.Cordon)
	switch {
	case !known.suspect:
	case known.beat.IsZero(): // whatever it wrote before it was suspected says nothing
		known.beat = known.deadline
	case known.deadline.Sub(known.beat) > roundTrip:
		known.suspect = false
		return cleared
	}
	return change
}

// mark takes in what is wanted of a node.
func (*fleet) mark(known *lease.Cordon, read lease.Cordon) change {
	if *known == read {
		return same
	}
	*known = read
	return marked
}

// takes reports whether a node counts and takes sessions.
func (f *fleet) takes(instance string) bool {
	return f.lives(instance) && f.cordonOf(instance) == lease.Open
}

// cordonOf returns what is wanted of a node.
func (f *fleet) cordonOf(instance string) lease.Cordon {
	if n, ok := f.nodes[instance]; ok {
		return n.cordon
	}
	return f.cordon // this node's
}

// suspect excludes a node from the plan. It reports whether that is news.
func (f *fleet) suspect(instance string) bool {
	n, ok := f.nodes[instance]
	if !ok || n.suspect {
		return false
	}
	n.suspect, n.beat = true, time.Time{}
	return true
}

// lives reports whether a node counts in the plan.
func (f *fleet) lives(instance string) bool {
	n, ok := f.nodes[instance]
	return instance == f.self.String() || ok && !n.suspect
}

// live returns the names of all nodes that count, this one included, in order.
func (f *fleet) live() []planner.Name {
	names := []planner.Name{f.self}
	for _, n := range f.nodes {
		if !n.suspect {
			names = append(names, n.name)
		}
	}
	slices.SortFunc(names, func(a, b planner.Name) int { return strings.Compare(a.String(), b.String()) })
	return names
}

// all returns the names of all known nodes, this one included.
func (f *fleet) all() []string {
	return slices.AppendSeq([]string{f.self.String()}, maps.Keys(f.nodes))
}

// size counts the nodes that live, suspects included.
func (f *fleet) size() int { return len(f.nodes) + 1 }

// due returns the nodes whose heartbeat must be looked at, and puts their next look
// off by a growing while: a Redis that hangs is not asked ever more.
func (f *fleet) due(now time.Time) []string {
	var names []string
	for name, n := range f.nodes {
		if !now.Before(n.lookAt) {
			n.lookAt = now.Add(growing(n.misses)) // should the look have no answer
			n.misses++
			names = append(names, name)
		}
	}
	return names
}

// next returns when the next heartbeat must be looked at or a node counts as full
// no more; zero for never.
func (f *fleet) next() time.Time {
	var first time.Time
	for _, n := range f.nodes {
		if first.IsZero() || n.lookAt.Before(first) {
			first = n.lookAt
		}
		if !n.fullUntil.IsZero() && n.fullUntil.Before(first) {
			first = n.fullUntil
		}
	}
	return first
}

// decline notes that a node did not take what it should have: it counts as full for
// least, and twice as long each further time, up to most; what was long ago counts no
// more. One that is new takes nothing before it is ready: that says nothing about its
// room, and lasts no longer.
func (f *fleet) decline(instance string, now time.Time, least, most time.Duration) {
	n, ok := f.nodes[instance]
	if !ok || now.Before(n.fullUntil) {
		return
	}
	if ready := n.seen.Add(newcomer); now.Before(ready) {
		n.fullUntil = ready
		return
	}
	if now.Sub(n.declinedAt) > longAgo*n.keep {
		n.keep = 0
	}
	n.declinedAt = now
	n.keep = min(max(least, 2*n.keep), most)
	n.fullUntil = now.Add(n.keep)
}

// isNew reports whether another node was first seen so short ago that it may take nothing yet.
func (f *fleet) isNew(instance string, now time.Time) bool {
	n, ok := f.nodes[instance]
	return ok && now.Before(n.seen.Add(newcomer))
}

// full reports whether a node takes no more than it has.
func (f *fleet) full(instance string, now time.Time) bool {
	n, ok := f.nodes[instance]
	return ok && now.Before(n.fullUntil)
}

// reopen counts nodes in again that were full for long enough. It reports whether
// there were any.
func (f *fleet) reopen(now time.Time) bool {
	found := false
	for _, n := range f.nodes {
		if !n.fullUntil.IsZero() && !now.Before(n.fullUntil) {
			n.fullUntil = time.Time{}
			found = true
		}
	}
	return found
}

// missing returns the known nodes that a complete list does not name.
func (f *fleet) missing(list []lease.Member) []string {
	listed := make(map[string]bool, len(list))
	for _, m := range list {
		listed[m.Instance] = true
	}
	var names []string
	for name := range f.nodes {
		if !listed[name] {
			names = append(names, name)
		}
	}
	return names
}
