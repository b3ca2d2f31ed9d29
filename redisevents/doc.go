// Package redisevents turns what Redis announces about its keys into typed hints
// ([Event]), and says where hints may have been missed ([Gap]).
//
// # Owns
//
// The subscription to keyspace notifications, on connections of its own; the
// server's notify-keyspace-events flags, of which it only ever adds; and the
// watch on which server is behind the address.
//
// # Invariants
//
//   - Every stretch in which events may be missing ends with a [Gap], and it comes
//     only after all channels are confirmed and the flags are set: whoever looks at
//     everything then misses nothing that happens later.
//   - A server that is another than before, or was started anew, gives a Gap with
//     Restarted, wherever INFO is allowed.
//   - Reading never waits for the consumer: events meet in a bounded set, the same
//     event twice counts once, and a full set becomes one Gap.
//   - Flags are a union: a flag that somebody else set is never taken away.
//   - Nothing is written to Redis but flags, and messages on a channel of the listeners.
//   - Keys of other databases and of other prefixes are ignored, and an ID is the
//     whole rest of a key behind its prefix.
//   - A listener moves with the address: a fresh connection every Config.FlagCheck
//     shows where new connections lead to, and INFO every Config.Identify shows
//     that the server in use was demoted. Both end the old subscription.
//
// # Proof of life
//
// A socket can be open and dead. The listeners of a fleet therefore take turns in
// publishing a canary every Config.Canary, and in asking INFO, for all: a subscription
// that hears one is alive. Who hears none publishes one, and where it stays unheard for
// Config.Dead although Redis accepted it, the subscription is replaced. While nothing
// can be published nothing is replaced: a Redis that is down or frozen is no reason to
// churn. See docs/adr/0021-listeners-take-turns.md.
//
// # Not promised
//
// That an event is true: anybody may publish one, and a replica says "del" where
// the master says "expired". That an expiry is announced in time: Redis announces
// a key when it finds it, not when it runs out. That FLUSHDB, FLUSHALL or SWAPDB
// are announced at all. Hence deadlines and scans elsewhere.
//
// # On failure
//
// Redis out of reach: Observer.Lost once, then attempts with growing pauses of up
// to Config.RetryMax; when it is back, one Gap. Flags or channels refused:
// Observer.Disabled once per reason; what can be subscribed stays subscribed, since
// somebody else may have set the flags, and a new attempt follows every
// Config.Refused. In mode [Require] a refusal at the first start ends Run; one by a
// master of a cluster that joins later does not.
//
// # Flags
//
// The listener asks for "KEgx$e", the fewest that serve it: E and x for the end of
// leases, g for their release (del, rename_from) and for documents that go or come
// by DEL, RENAME, RESTORE or COPY, K and $ for documents and heartbeats that are
// set, e for evictions. Hashes, lists and the like cannot be documents, so h, l, s,
// z and t are left out: the scan reports such keys. "A" covers all but K and E.
package redisevents
