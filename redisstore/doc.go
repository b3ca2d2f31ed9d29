// Package redisstore keeps leases, polls, heartbeats and session documents in
// Redis: one server, or a cluster.
//
// # Owns
//
// The keys poll:lease:*, poll:state:* and poll:node:*, the stream of results, and
// the scripts that are the only writers of the first two. Session documents are
// read, never written.
//
// # Invariants
//
//   - Each operation on a lease is atomic in Redis.
//   - The token grows if and only if a lease is taken; it never falls.
//   - Only the holder with the current token renews, releases, begins or finishes.
//   - A key of a foreign type is reported and never touched.
//   - Every call ends by its context's deadline, and without one when the server
//     has not answered for [Options.Timeout].
//   - No error names a password or a URL.
//
// # Not promised
//
// An answer: a reply can be lost after its command took effect. All operations
// may be repeated; acquire and begin find what they did before.
//
// # On failure
//
// An error other than [lease.ErrLost] and [lease.ErrForeign] means "unknown",
// also where it is an error reply: the lease counts as lost for work and as
// possibly held for claiming.
package redisstore
