package redisevents

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

// runOff only watches who the server is. The connection is renewed at the pace of
// FlagCheck, to see where the address leads to.
func (w *watch) runOff(ctx context.Context) error {
	w.report(condition{problem: reasonOff, begun: true}) // there is nothing to subscribe to
	for ctx.Err() == nil {
		w.lookOut(ctx)
	}
	return nil
}

func (w *watch) lookOut(ctx context.Context) {
	client := redis.NewClient(privateOptions(w.options, w.cfg.Call))
	defer func() { _ = client.Close() }()
	for until := time.Now().Add(w.cfg.FlagCheck); time.Now().Before(until); {
		w.glance(ctx, client)
		if !sleep(ctx, w.cfg.Identify) {
			return
		}
	}
}

// glance announces a Gap when the server is another one.
func (w *watch) glance(ctx context.Context, client *redis.Client) {
	ctx, cancel := context.WithTimeout(ctx, w.cfg.Call)
	defer cancel()
	id, err := identify(ctx, client)
	if err != nil {
		return
	}
	if id.changed(w.last) || (w.joined && !w.begun) {
		w.why = reasonServer
		w.gap(id)
	}
	if id.known() {
		w.last = id
	}
}
