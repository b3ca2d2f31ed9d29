package node

import (
	"context"
	"fmt"

	"leasehold/eventlog"
)

// noEviction is the only policy under which Redis forgets no lease by itself.
const noEviction = "noeviction"

// warnOfEviction says, once, if Redis may take leases when its memory is full. A
// server that does not tell its settings is not asked again.
func (n *Node) warnOfEviction(ctx context.Context) {
	settings, err := n.cfg.Client.ConfigGet(ctx, "maxmemory*").Result()
	if err != nil {
		return
	}
	limit, policy := settings["maxmemory"], settings["maxmemory-policy"]
	if limit == "" || limit == "0" || policy == "" || policy == noEviction {
		return
	}
	n.cfg.Log.Emit(eventlog.SettingsWarning{Reason: fmt.Sprintf(
		"maxmemory-policy of Redis is %s and its memory is limited: it may evict leases, and sessions then change "+
			"owners; set it to %s", policy, noEviction)})
}
