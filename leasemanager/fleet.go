package leasemanager

import (
	"context"
	"fmt"
	"slices"

	"leasehold/planner"
	"leasehold/session"
)

// GetLiveNodes asks Redis which instances' heartbeats live, and returns them in
// order.
func (m *Member) GetLiveNodes(ctx context.Context) ([]string, error) {
	if err := m.ready(); err != nil {
		return nil, err
	}
	members, err := m.store.List(ctx)
	if err != nil {
		return nil, fmt.Errorf("leasemanager: live nodes: %w", err)
	}
	nodes := make([]string, len(members))
	for i, n := range members {
		nodes[i] = n.Instance
	}
	slices.Sort(nodes)
	return slices.Compact(nodes), nil
}

// PreferredOwner returns which instance should have the session; "" if none lives. A
// member that polls by plan answers by its last plan, where that has the session, and
// asks nobody. Else it is the live node that comes first for the session by rendezvous
// weight: the same on every instance that sees the same nodes, and another for few
// sessions only when a node joins or leaves.
func (m *Member) PreferredOwner(ctx context.Context, sessionID string) (string, error) {
	if err := session.ValidID(sessionID); err != nil {
		return "", fmt.Errorf("leasemanager: %w", err)
	}
	if owner := m.planned(sessionID); owner != "" {
		return owner, nil
	}
	nodes, err := m.GetLiveNodes(ctx)
	if err != nil || len(nodes) == 0 {
		return "", err
	}
	names := make([]planner.Name, len(nodes))
	for i, n := range nodes {
		names[i] = planner.NewName(n)
	}
	return nodes[planner.Rank(planner.NewName(sessionID), names)[0]], nil
}

// planned returns who should have a session by this member's plan; empty if it has
// none.
func (m *Member) planned(sessionID string) string {
	if m.ready() != nil || m.poll == nil {
		return ""
	}
	return m.nodes[1].Planned(sessionID)
}
