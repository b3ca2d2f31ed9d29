package fleetview

import (
	"maps"
	"slices"
	"strings"

	"leasehold/planner"
)

// Draft collects what a plan is made of. Make it with [NewDraft], add all sessions,
// and then ask for the plan. It is for one goroutine.
type Draft struct {
	view  planner.View
	index map[string]int32
	at    map[string]int // of each session
}

// NewDraft begins with the nodes that count, by their instance IDs.
func NewDraft(nodes []string) *Draft {
	d := &Draft{index: make(map[string]int32, len(nodes)), at: make(map[string]int)}
	for _, name := range slices.Sorted(slices.Values(nodes)) {
		d.index[name] = int32(len(d.view.Nodes)) //nolint:gosec // no fleet has that many nodes
		d.view.Nodes = append(d.view.Nodes, planner.NewName(name))
	}
	return d
}

// Names returns the instance IDs, in order.
func (n Nodes) Names() []string { return slices.Sorted(maps.Keys(n)) }

// Add takes in sessions, each once. Those that nodes do not poll at present have no
// place in a plan.
func (d *Draft) Add(sessions []Session) {
	for _, s := range sessions {
		if s.Problem != "" || !s.Spec.Pollable() {
			continue
		}
		holder, ok := d.index[s.Lease.Holder]
		if !ok {
			holder = planner.None
		}
		d.at[s.ID] = len(d.view.Sessions)
		d.view.Sessions = append(d.view.Sessions, planner.NewName(s.ID))
		d.view.Present = append(d.view.Present, holder)
	}
}

// Plan is who should have which session, as the nodes come to it.
type Plan struct {
	draft  *Draft
	owners []int32
	has    []int
	share  []int
}

// Plan divides the sessions.
func (d *Draft) Plan() *Plan {
	p := &Plan{
		draft: d, owners: planner.Assign(d.view),
		has: make([]int, len(d.view.Nodes)), share: make([]int, len(d.view.Nodes)),
	}
	for i, owner := range p.owners {
		if owner != planner.None {
			p.share[owner]++
		}
		if holder := d.view.Present[i]; holder != planner.None {
			p.has[holder]++
		}
	}
	return p
}

// Without returns the plan of the same sessions, held as they are, when a node of the
// draft has gone.
func (d *Draft) Without(gone ...string) *Plan {
	left := slices.DeleteFunc(d.names(), func(name string) bool { return slices.Contains(gone, name) })
	rest := NewDraft(left)
	rest.at, rest.view.Sessions = d.at, d.view.Sessions
	rest.view.Present = make([]int32, len(d.view.Present))
	for i, holder := range d.view.Present {
		rest.view.Present[i] = planner.None
		if holder == planner.None {
			continue
		}
		if at, ok := rest.index[d.view.Nodes[holder].String()]; ok {
			rest.view.Present[i] = at
		}
	}
	return rest.Plan()
}

func (d *Draft) names() []string {
	names := make([]string, len(d.view.Nodes))
	for i, n := range d.view.Nodes {
		names[i] = n.String()
	}
	return names
}

// Share is what a node has, and what it should have.
type Share struct {
	Instance string
	// Has counts the sessions of which it has the lease, Share those that it should
	// have; only such that nodes poll.
	Has, Share int
}

// Shares returns what each node has and should have, in the order of their names.
func (p *Plan) Shares() []Share {
	shares := make([]Share, len(p.share))
	for i, n := range p.draft.view.Nodes {
		shares[i] = Share{Instance: n.String(), Has: p.has[i], Share: p.share[i]}
	}
	return shares
}

// Owner returns who should have a session; empty where no node polls it, or there is
// none.
func (p *Plan) Owner(session string) string {
	i, ok := p.draft.at[session]
	if !ok {
		return ""
	}
	return p.draft.name(p.owners[i])
}

func (d *Draft) name(node int32) string {
	if node == planner.None {
		return ""
	}
	return d.view.Nodes[node].String()
}

// Move is a session that goes from one node to another. From is empty where no node
// that counts has it.
type Move struct{ Session, From, To string }

// Moves returns the sessions that change hands by the plan, in the order of their IDs.
// Who has them now is what the draft before says.
func (p *Plan) Moves(before *Draft) []Move {
	var moves []Move
	for i, owner := range p.owners {
		from, to := before.name(before.view.Present[i]), p.draft.name(owner)
		if from != to {
			moves = append(moves, Move{Session: p.draft.view.Sessions[i].String(), From: from, To: to})
		}
	}
	slices.SortFunc(moves, func(a, b Move) int { return strings.Compare(a.Session, b.Session) })
	return moves
}
