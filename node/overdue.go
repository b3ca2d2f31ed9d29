package node

import (
	"context"
	"time"

	"leasehold/lease"
	"leasehold/planner"
	"leasehold/schedule"
	"leasehold/session"
)

const (
	// slice is the most sessions of others that are looked at in one interval.
	slice = 500
	// sliceLimit bounds one such look.
	sliceLimit = 5 * time.Second
)

// overdue finds sessions of others that nobody polls. Each round looks at a slice of
// them, and what was found counts until it is looked at again.
type overdue struct {
	next  int // of the plan's sessions
	found map[string]bool
}

// lookForOverdue looks as often as the node compares with Redis.
func (n *Node) lookForOverdue() {
	o := overdue{found: make(map[string]bool)}
	n.repeat(n.cfg.ReconcileInterval, func() {
		n.gauges.overdue.Store(int64(o.round(n)))
		n.failing.Living() // what has ended is kept no longer, whether or not anybody asks
	})
}

// round looks at the next slice and returns how many are known to be overdue.
func (o *overdue) round(n *Node) int {
	p := n.plan.Load()
	if p == nil {
		return 0
	}
	ids := o.pick(p, n.cfg.Instance)
	if len(ids) > 0 {
		ctx, cancel := context.WithTimeout(n.ctx, sliceLimit)
		defer cancel()
		o.look(ctx, n, ids)
	}
	return len(o.found)
}

// pick returns the sessions of others to look at, and forgets what the plan does not
// know any more when it begins anew.
func (o *overdue) pick(p *plan, self string) []string {
	var ids []string
	all := len(p.view.Sessions)
	if o.next >= all {
		o.next = 0
	}
	if o.next == 0 && len(o.found) > 0 {
		o.forget(p, self)
	}
	for ; o.next < all && len(ids) < slice; o.next++ {
		owner := p.owners[o.next]
		if owner != planner.None && p.view.Nodes[owner].String() != self {
			ids = append(ids, p.view.Sessions[o.next].String())
		}
	}
	return ids
}

func (o *overdue) forget(p *plan, self string) {
	others := make(map[string]bool)
	for i, name := range p.view.Sessions {
		if id := name.String(); o.found[id] && p.owners[i] != planner.None && p.view.Nodes[p.owners[i]].String() != self {
			others[id] = true
		}
	}
	o.found = others
}

// look judges sessions by the server's clock. What can not be read stays as it was.
func (o *overdue) look(ctx context.Context, n *Node, ids []string) {
	now, err := n.cfg.Client.Time(ctx).Result()
	if err != nil {
		return
	}
	docs, err := n.store.Get(ctx, ids)
	if err != nil {
		return
	}
	due := make(map[string]time.Time, len(ids))
	for _, in := range n.store.Inspect(ctx, ids) {
		switch {
		case in.Err != nil:
		case in.Holder != "" && !lease.InstanceForm(in.Holder):
			due[in.Session] = time.Time{} // it is up to a worker, and never due to nodes
		default:
			due[in.Session] = in.Due()
		}
	}
	for _, d := range docs {
		next, read := due[d.ID]
		s, err := session.Decode(d.ID, d.Raw, n.cfg.Defaults)
		switch {
		case !read:
		case err == nil && d.Err == nil && s.Pollable() && schedule.Overdue(s.Policy(), next, now, s.Timeout) > 0:
			o.found[d.ID] = true
		default:
			delete(o.found, d.ID)
		}
	}
}
