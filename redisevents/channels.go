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

// channelsOf lists what a subscription listens to, the canary's channel last.
//
// Leases are heard by event and not by key: a pattern over the lease keys would
// deliver every renewal of the fleet to every node. Documents and heartbeats are
// few, or rarely written, and are heard by key.
func channelsOf(keys rediskey.Keys, db int, canary string) []channel {
	event := keyevent + strconv.Itoa(db) + middle
	space := keyspace + strconv.Itoa(db) + middle
	return []channel{
		{name: keyevent + "*" + middle + nameExpired, pattern: true},
		{name: event + nameDel},
		{name: event + nameEvicted},
		{name: event + nameRenameFrom},
		{name: space + keys.SessionGlob(), pattern: true},
		{name: space + keys.NodeGlob(), pattern: true},
		{name: canary},
	}
}

// canaryChannel names the private channel of one subscription. A channel is no
// key: nothing is stored under the name.
func canaryChannel(keys rediskey.Keys, random string) string {
	return keys.Prefix + "canary:" + random
}
