package node

import "leasehold/planner"

// plan says who should own what, as membership found it last.
type plan struct {
	view   planner.View
	owners []int32
}

func (n *Node) notePlan(view planner.View, owners []int32) {
	n.plan.Store(&plan{view: view, owners: owners})
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
