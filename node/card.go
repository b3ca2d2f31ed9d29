package node

import (
	"context"
	"time"

	"leasehold/eventlog"
	"leasehold/lease"
)

// publish keeps the node's card in Redis, apart from the heartbeat, which must never
// wait for it. Once it compares the node's settings with those of the others. From when
// the heartbeat is removed until the node has stopped, the card says that it leaves: its
// leases are then not those of a dead node.
func (n *Node) publish(ctx context.Context) {
	defer close(n.retired)
	ticks := time.NewTicker(n.cfg.HeartbeatInterval)
	defer ticks.Stop()
	left, leaving := n.left, false
	for compared := false; ; {
		if n.publishOnce(ctx, leaving) == nil && !compared {
			compared = n.compare(ctx) == nil
		}
		select {
		case <-ctx.Done():
			return
		case <-n.stopped:
			_ = n.store.Retire(ctx, n.cfg.Instance) // it has a TTL
			return
		case <-left:
			left, leaving = nil, true
		case <-ticks.C:
		}
	}
}

func (n *Node) publishOnce(ctx context.Context, leaving bool) error {
	card := *n.cfg.Card
	card.Refused, card.Leaving = n.cfg.Results.Stats().Fenced, leaving
	return n.store.Publish(ctx, card, 2*n.cfg.HeartbeatTTL)
}

// retire has the card removed. Nothing writes it any more.
func (n *Node) retire() {
	n.stopping.Do(func() { close(n.stopped) })
	within(leaveLimit, n.retired)
}

// compare warns of each setting that another node has otherwise.
func (n *Node) compare(ctx context.Context) error {
	cards, err := n.store.LiveCards(ctx)
	if err != nil {
		return err
	}
	told := make(map[string]bool)
	for _, other := range cards {
		if other == nil {
			continue
		}
		for _, d := range lease.Differences(*n.cfg.Card, *other) {
			if !told[d.Setting] { // the others agree among themselves, or say so
				told[d.Setting] = true
				n.cfg.Log.Emit(eventlog.SettingsWarning{Reason: d.String()})
			}
		}
	}
	return nil
}
