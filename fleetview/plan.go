package fleetview

import (
	"maps"
	"slices"
	"strings"

	"leasehold/lease"
	"leasehold/planner"
)

// Draft collects what a plan is made of. Make it with [NewDraft], add all sessions,
// and then ask for the plan. It is for one goroutine.
type Draft struct {
	view  planner.View
	nodes Nodes
	// most limits what nodes take by their settings.
	most  map[string]int
	index map[string]int32
	at    map[string]int // of each session
}

// NewDraft begins with the nodes that are alive, and with the most that each takes by
// its settings; one that is not named, or has 0, takes any number.
func NewDraft(nodes Nodes, most map[string]int) *Draft {
	d := &Draft{nodes: nodes, most: most, index: make(map[string]int32, len(nodes)), at: make(map[string]int)}
	for _, name := range nodes.Names() {
		d.index[name] = int32(len(d.view.Nodes)) //nolint:gosec // no fleet has that many nodes
		d.view.Nodes = append(d.view.Nodes, planner.NewName(name))
	}
	return d
}

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

// Plan divides the sessions. As for the nodes, a cordon goes before what a node's
// settings allow it.
func (d *Draft) Plan() *Plan {
	p := &Plan{draft: d, has: make([]int, len(d.view.Nodes)), share: make([]int, len(d.view.Nodes))}
	for _, holder := range d.view.Present {
		if holder != planner.None {
			p.has[holder]++
		}
	}
	view := d.view
	view.Most = make(map[int]int)
	for i, n := range view.Nodes {
		if most, limited := d.nodes[n.String()].Cordon.Most(p.has[i]); limited {
			view.Most[i] = most
		} else if most := d.most[n.String()]; most > 0 {
			view.Most[i] = most
		}
	}
	p.owners = planner.Assign(view)
	for _, owner := range p.owners {
		if owner != planner.None {
			p.share[owner]++
		}
	}
	return p
}

// Without returns the plan of the same sessions, held as they are, when nodes of the
// draft have gone.
func (d *Draft) Without(gone ...string) *Plan {
	left := maps.Clone(d.nodes)
	maps.DeleteFunc(left, func(name string, _ lease.Member) bool { return slices.Contains(gone, name) })
	rest := NewDraft(left, d.most)
	rest.at, rest.view.Sessions = d.at, d.view.Sessions
	rest.view.Present = make([]int32, len(d.view.Present))
	for i, holder := range d.view.Present {
		rest.view.Present[i] = planner.None
		if at, ok := rest.index[d.name(holder)]; ok {
			rest.view.Present[i] = at
		}
	}
	return rest.Plan()
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

// Held counts what a node has of the sessions in the plan: those that go to another,
// and those that it keeps, since no other takes them: one that is cordoned takes
// nothing, and one with limits only up to them, whatever the plan would like.
func (p *Plan) Held(instance string) (leaving, staying int) {
	at, ok := p.draft.index[instance]
	if !ok {
		return 0, 0
	}
	to := make(map[int32]int)
	for i, holder := range p.draft.view.Present {
		switch owner := p.owners[i]; {
		case holder != at:
		case owner == at || owner == planner.None:
			staying++
		default:
			to[owner]++
		}
	}
	for owner, n := range to {
		takes := min(n, p.room(owner))
		leaving, staying = leaving+takes, staying+n-takes
	}
	return leaving, staying
}

// room is how many more sessions a node takes.
func (p *Plan) room(node int32) int {
	name := p.draft.name(node)
	most := p.draft.most[name]
	switch {
	case p.draft.nodes[name].Cordon != lease.Open:
		return 0
	case most > 0:
		return max(0, most-p.has[node])
	}
	return len(p.owners)
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
