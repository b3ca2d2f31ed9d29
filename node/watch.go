package node

import (
	"context"

	"leasehold/redisevents"
	"leasehold/redisstore"
)

// listening says which events concern the fleet, and where they come from.
func (n *Node) listening() redisevents.Config {
	c := n.cfg.Listen
	c.Name = n.cfg.Instance
	if n.cfg.Gauge != nil {
		c.Lag = n.cfg.Gauge.Lag
	}
	c.Client, c.Keys, c.DB, c.Mode = n.cfg.Client, n.cfg.Keys, n.cfg.DB, n.cfg.Events
	c.Moved = func() { redisstore.Reconnect(n.ctx, n.cfg.Client) }
	return c
}

// Events says how far the node's events can be relied on.
func (n *Node) Events() redisevents.Status { return n.listener.Status() }

// Follow opens one more feed of the node's events, that holds so many: see
// [redisevents.Listener.Follow].
func (n *Node) Follow(limit int) *redisevents.Feed { return n.listener.Follow(limit) }

// Watch opens a feed of a listener of its own, which hears of the leases that are
// taken too. It costs as long as it is open.
func (n *Node) Watch(limit int) *Watch {
	cfg := n.listening()
	cfg.Name, cfg.Takings, cfg.MaxQueue, cfg.Lag = "", true, 1, nil // the feed is what is read
	cfg.Moved = nil                                                 // the node's own listener sees to it
	if cfg.Mode == redisevents.Require {
		cfg.Mode = redisevents.Auto
	}
	ctx, cancel := context.WithCancel(n.ctx)
	l := redisevents.New(cfg)
	w := &Watch{Feed: l.Follow(limit), cancel: cancel}
	go func() { _ = l.Run(ctx) }() // tries until the context ends

	return w
}

// Watch is a feed with a listener of its own, which ends with it.
type Watch struct {
	*redisevents.Feed

	cancel context.CancelFunc
}

// Close ends both.
func (w *Watch) Close() {
	w.cancel()
	w.Feed.Close()
}
