package fleetview

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"leasehold/lease"
)

// Summary counts a fleet's sessions. Make it with [NewSummary], add all sessions, and
// read it then. It is for one goroutine.
type Summary struct {
	// Members is how many nodes are alive, Sessions how many documents there are.
	Members  int
	Sessions int
	// Cordoned is how many of the members take no more sessions.
	Cordoned int
	States   map[State]int
	// Barred is how many of the invalid ones are to be polled: see [Session.Barred].
	Barred int
	// Late is how many are overdue by more than two intervals, Latest by how long the
	// worst.
	Late   int
	Latest time.Duration
	// Most and Least are what the nodes with most and fewest leases have, of those that
	// take some.
	Most, Least int
	// Shortest is the least time that a lease has left, of Weakest; empty: no lease
	// runs out.
	Shortest time.Duration
	Weakest  string
	// Leases is how many sessions each node that is alive has.
	Leases map[string]int

	nodes Nodes
	now   time.Time
}

// NewSummary begins to count at now, by the clock of the Redis server.
func NewSummary(nodes Nodes, now time.Time) *Summary {
	s := &Summary{
		Members: len(nodes), States: make(map[State]int), Leases: make(map[string]int, len(nodes)),
		nodes: nodes, now: now,
	}
	for name, member := range nodes {
		s.Leases[name] = 0
		if member.Cordon != lease.Open {
			s.Cordoned++
		}
	}
	return s
}

// Add counts sessions, each once.
func (s *Summary) Add(sessions []Session) {
	for _, one := range sessions {
		s.Sessions++
		state := s.nodes.State(one)
		s.States[state]++
		if one.Barred() {
			s.Barred++
		}
		if late := s.nodes.Late(one, s.now); late > 0 {
			s.Late, s.Latest = s.Late+1, max(s.Latest, late)
		}
		if state == Invalid || one.Lease.Holder == "" {
			continue
		}
		if _, alive := s.nodes[one.Lease.Holder]; alive {
			s.Leases[one.Lease.Holder]++
		}
		if left := one.Lease.Remaining; left != lease.NoExpiry && (s.Weakest == "" || left < s.Shortest) {
			s.Shortest, s.Weakest = left, one.ID
		}
	}
	s.Most, s.Least = 0, 0
	var counts []int
	for name, n := range s.Leases {
		if s.nodes[name].Cordon == lease.Open { // others have less on purpose
			counts = append(counts, n)
		}
	}
	if len(counts) > 0 {
		s.Least, s.Most = slices.Min(counts), slices.Max(counts)
	}
}

// Spread is how many more leases the fullest node has than the emptiest.
func (s *Summary) Spread() int { return s.Most - s.Least }

// Problems says why the fleet does not do its work; none: a node is alive, each session
// that is to be polled by nodes, or has a worker, is held by who is alive, and none is late
// or barred. Each ends with the command that lists what it is about, or mends it.
func (s *Summary) Problems() []string {
	var all []string
	switch free := s.States[Unleased] + s.States[Orphaned]; {
	case s.Members == 0:
		all = append(all, "no node is alive")
	case s.Cordoned == s.Members && free > 0:
		all = append(all, s.allCordoned())
	}
	for _, p := range []struct {
		n           int
		what, which string
	}{
		{s.States[Unleased], "leased by nobody", "--state unleased"},
		{s.States[Orphaned], "leased by a node that is gone", "--state orphaned"},
		{s.Barred, "barred by a key of another type", "--state invalid -o wide"},
		{s.Late, "overdue by more than two intervals", "--late"},
	} {
		if p.n > 0 {
			all = append(all, fmt.Sprintf("%d of %d sessions %s %s: leasehold sessions ls %s", p.n, s.Sessions, isOrAre(p.n), p.what, p.which))
		}
	}
	return all
}

// allCordoned says how the nodes take sessions again; many are not named.
func (s *Summary) allCordoned() string {
	const few = 3
	names := "NODE..."
	if s.Members <= few {
		names = strings.Join(s.nodes.Names(), " ")
	}
	who := "the only node is"
	if s.Members > 1 {
		who = fmt.Sprintf("all %d nodes are", s.Members)
	}
	return who + " cordoned: leasehold nodes uncordon " + names
}

// Notes says what is not well with single sessions, of a fleet that may do its work.
func (s *Summary) Notes() []string {
	var all []string
	if n := s.States[Failing]; n > 0 {
		verb := "fail"
		if n == 1 {
			verb = "fails"
		}
		all = append(all, fmt.Sprintf("%d of %d sessions %s: leasehold sessions ls --state failing -o wide", n, s.Sessions, verb))
	}
	if n := s.States[Invalid]; n > 0 {
		all = append(all, fmt.Sprintf("%d of %d documents can't be used: leasehold sessions ls --state invalid -o wide", n, s.Sessions))
	}
	return all
}

func isOrAre(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}
