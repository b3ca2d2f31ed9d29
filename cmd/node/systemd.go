package main

import (
	"context"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"

	"leasehold/httpapi"
)

// tellSystemd tells the service manager that started this process how it is: see
// sd_notify(3). Without one it does nothing. A manager that does not listen is its own
// trouble, and none of the node's.
func tellSystemd(state string) { _, _ = daemon.SdNotify(false, state) }

// feedWatchdog tells the service manager that the node lives, as long as its checks say
// so, in half of the time after which it would be ended. It returns with ctx, or at once
// where nobody watches.
func feedWatchdog(ctx context.Context, alive []httpapi.Check) {
	limit, err := daemon.SdWatchdogEnabled(false)
	if err != nil || limit <= 0 {
		return
	}
	ticks := time.NewTicker(limit / 2)
	defer ticks.Stop()
	for {
		if lives(ctx, alive, limit/2) {
			tellSystemd(daemon.SdNotifyWatchdog)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
		}
	}
}

func lives(ctx context.Context, alive []httpapi.Check, limit time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for _, c := range alive {
		if c.Probe(ctx) != nil {
			return false
		}
	}
	return true
}
