package node

import (
	"context"
	"errors"
	"slices"
	"time"

	"leasehold/eventlog"
	"leasehold/lease"
)

const (
	// sweepEvery is how many comparisons with Redis lie between two sweeps: each goes
	// through all keys once, for the whole fleet.
	sweepEvery = 10
	// sweepLimit bounds one sweep.
	sweepLimit = time.Minute
)

// leftovers are the states of sessions whose documents have gone. Who holds a session as
// its document goes takes its state away; who has died meanwhile can't.
type leftovers struct {
	suspects map[string]bool // found by the sweep before
}

// sweep has one node of the fleet look for leftovers, once in a while.
func (n *Node) sweep() {
	var l leftovers
	n.repeat(sweepEvery*n.cfg.ReconcileInterval, func() { l.round(n) })
}

// round removes what two sweeps have found: a document that is being replaced is there
// by the second, and no poll that began under it is in flight.
func (l *leftovers) round(n *Node) {
	p, before := n.plan.Load(), l.suspects
	l.suspects = nil
	if p == nil || !p.sweeper(n.cfg.Instance) {
		return
	}
	ctx, cancel := context.WithTimeout(n.ctx, sweepLimit)
	defer cancel()
	orphans, err := n.orphans(ctx, p)
	if err != nil {
		return // the next sweep begins anew
	}
	l.suspects = orphans
	var again []string
	for id := range orphans {
		if before[id] {
			again = append(again, id)
		}
	}
	if removed := n.removeStates(ctx, again); removed > 0 {
		n.cfg.Log.Emit(eventlog.ReconcileRepaired{Kind: "state", Count: removed})
	}
}

// sweeper reports whether a node is the one that sweeps: the first by name.
func (p *plan) sweeper(self string) bool {
	for _, name := range p.view.Nodes {
		if name.String() < self {
			return false
		}
	}
	return len(p.view.Nodes) > 0
}

// orphans returns the sessions that have a state and no document.
func (n *Node) orphans(ctx context.Context, p *plan) (map[string]bool, error) {
	known := make(map[string]bool, len(p.view.Sessions))
	for _, name := range p.view.Sessions {
		known[name.String()] = true
	}
	found := make(map[string]bool)
	err := n.store.States(ctx, func(ids []string) error {
		ids = slices.DeleteFunc(ids, func(id string) bool { return known[id] })
		docs, err := n.store.Get(ctx, ids)
		if err != nil {
			return err
		}
		for _, d := range docs {
			if d.Raw == nil && d.Err == nil {
				found[d.ID] = true
			}
		}
		return nil
	})
	return found, err
}

// removeStates removes those that belong to polls and that nobody holds, and returns how
// many. A state without polls may be of a lease that needs no document.
func (n *Node) removeStates(ctx context.Context, ids []string) int {
	var polled []lease.Release
	for _, in := range n.store.Inspect(ctx, ids) {
		if in.Err == nil && in.Holder == "" && !in.Next.IsZero() {
			grant := lease.Grant{Session: in.Session, Holder: n.cfg.Instance}
			polled = append(polled, lease.Release{Grant: grant, Forget: true})
		}
	}
	removed := 0
	for _, err := range n.store.Release(ctx, polled) {
		if errors.Is(err, lease.ErrLost) { // there was no lease, and now is no state
			removed++
		}
	}
	return removed
}
