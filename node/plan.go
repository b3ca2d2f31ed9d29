package node

import (
	"slices"

	"leasehold/planner"
)

// plan says who should own what, as membership found it last.
type plan struct {
	view   planner.View
	owners []int32
	mine   int // sessions that this node should own
}

func (n *Node) notePlan(view planner.View, owners []int32) {
	p := &plan{view: view, owners: owners}
	self := slices.IndexFunc(view.Nodes, func(name planner.Name) bool { return name.String() == n.cfg.Instance })
	for _, owner := range owners {
		if int(owner) == self && owner != planner.None {
			p.mine++
		}
	}
	n.plan.Store(p)
}

// Planned returns the instance that should own a session by this node's last plan;
// empty if the plan does not know it.
func (n *Node) Planned(session string) string {
	p := n.plan.Load()
	if p == nil {
		return ""
	}
	for i, name := range p.view.Sessions {
		if name.String() == session && p.owners[i] != planner.None {
			return p.view.Nodes[p.owners[i]].String()
		}
	}
	return ""
}
