package fleetview

import (
	"context"

	"leasehold/lease"
)

// Stopping notes of which of the sessions the holder is a node that is stopping: it has
// no heartbeat any more, and its card says that it waits for its last polls.
func (r Reader) Stopping(ctx context.Context, nodes Nodes, some []Session) error {
	var gone []string
	asked := make(map[string]bool) // and whether it is stopping
	for _, s := range some {
		holder := s.Lease.Holder
		if _, known := asked[holder]; !known && nodes.State(s) == Orphaned {
			asked[holder] = false
			gone = append(gone, holder)
		}
	}
	cards, err := r.Store.Cards(ctx, gone)
	if err != nil {
		return err
	}
	for i, c := range cards {
		asked[gone[i]] = leaving(c)
	}
	for i := range some {
		some[i].Stopping = asked[some[i].Lease.Holder]
	}
	return nil
}

func leaving(c *lease.Card) bool { return c != nil && c.Leaving }
