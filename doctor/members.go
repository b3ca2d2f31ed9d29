package doctor

import (
	"context"
	"slices"

	"github.com/redis/go-redis/v9"

	"leasehold/config"
	"leasehold/lease"
	"leasehold/redisstore"
)

// members compares the settings with those that the nodes of the fleet publish.
func members(ctx context.Context, client redis.UniversalClient, cfg config.Config) []Finding {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	store := redisstore.New(client, cfg.Keys, redisstore.Options{Timeout: cfg.RedisTimeout})
	cards, err := store.LiveCards(ctx)
	if err != nil {
		return []Finding{unknown("", "what the nodes say of themselves could not be read: %v", err)}
	}
	mine := lease.Card{Shared: cfg.Shared()}
	var all []Finding
	var told []string
	for _, card := range cards {
		if card == nil {
			continue
		}
		for _, d := range lease.Differences(mine, *card) {
			if slices.Contains(told, d.Setting+d.Theirs) {
				continue
			}
			told = append(told, d.Setting+d.Theirs)
			all = append(all, warning("set "+d.Setting+" to the same on all nodes, such as "+d.Setting+"="+d.Theirs, "%s", d.String()))
		}
	}
	if len(all) == 0 {
		all = append(all, fine("nodes of the fleet: %d, none with other settings", len(cards)))
	}
	return all
}
