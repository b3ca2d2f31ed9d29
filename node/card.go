package node

import (
	"context"
	"time"

	"leasehold/eventlog"
	"leasehold/lease"
)

// publish keeps the node's card in Redis, apart from the heartbeat, which must never
// wait for it. Once it compares the node's settings with those of the others.
func (n *Node) publish(ctx context.Context) {
	ticks := time.NewTicker(n.cfg.HeartbeatInterval)
	defer ticks.Stop()
	for compared := false; ; {
		if n.publishOnce(ctx) == nil && !compared {
			compared = n.compare(ctx) == nil
		}
		select {
		case <-ctx.Done():
			return
		case <-n.left:
			return
		case <-ticks.C:
		}
	}
}

// publishOnce writes the card, unless the node leaves: it would outlive the node.
func (n *Node) publishOnce(ctx context.Context) error {
	select {
	case n.publishing <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-n.publishing }()
	select {
	case <-n.left:
		return nil
	default:
	}
	card := *n.cfg.Card
	card.Refused = n.cfg.Results.Stats().Fenced
	return n.store.Publish(ctx, card, 2*n.cfg.HeartbeatTTL)
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
