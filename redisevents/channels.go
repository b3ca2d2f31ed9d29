package redisevents

import (
	"strconv"

	"leasehold/rediskey"
)

// channel is one thing to subscribe to.
type channel struct {
	name    string
	pattern bool
}

// channelsOf lists what a subscription listens to, the canaries' channels last.
//
// Leases are heard by event and not by key: a pattern over the lease keys would
// deliver every renewal of the fleet to every node. Documents, heartbeats
// and cordons are few, or rarely written, and are heard by key.
//
// The start of a lease is heard, where it is wanted, with all other SETs of the
// database: see Config.Takings.
func channelsOf(cfg *Config, name string) []channel {
	event := keyevent + strconv.Itoa(cfg.DB) + middle
	space := keyspace + strconv.Itoa(cfg.DB) + middle
	var takings []channel
	if cfg.Takings {
		takings = []channel{{name: event + nameSet}}
	}
	return append(takings, []channel{
		{name: keyevent + "*" + middle + nameExpired, pattern: true},
		{name: event + nameDel},
		{name: event + nameEvicted},
		{name: event + nameRenameFrom},
		{name: space + cfg.Keys.SessionGlob(), pattern: true},
		{name: space + cfg.Keys.NodeGlob(), pattern: true},
		{name: space + cfg.Keys.CordonGlob(), pattern: true},
		{name: canaryChannel(cfg.Keys)},
		{name: ownChannel(cfg.Keys, name)},
	}...)
}

// canaryChannels is how many of a subscription's channels are for canaries.
const canaryChannels = 2

// canaries begins the names of channels for canaries. A channel is no key: nothing is
// stored under the name.
func canaries(keys rediskey.Keys) string { return keys.Prefix + "canary:" }

// canaryChannel names the channel that all listeners of these keys publish to and hear.
func canaryChannel(keys rediskey.Keys) string { return canaries(keys) + "all" }

// ownChannel names the channel that one subscription alone hears, by its name.
func ownChannel(keys rediskey.Keys, name string) string { return canaries(keys) + name }
