// Package redistest gives tests a Redis: one in memory that lives in a bubble of
// virtual time ([Mini]), and real redis-server processes ([Server], [Cluster]).
//
// # Owns
//
// The servers that it started, and the ways in which a connection to them can
// fail ([Link]).
//
// # Invariants
//
//   - What a test started is gone when the test ends; processes are ended by
//     their own process ID.
//   - A real server listens on a free loopback port, keeps nothing on disk unless
//     asked to, and comes back on the same port when started again.
//   - A command that a link lost the reply of has taken effect exactly once.
//
// # Not promised
//
// miniredis is no Redis: it has no keyspace notifications, no CONFIG and no INFO
// server; the conformance suite of package leasetest says what else differs. Over
// a link no command may block (BLPOP, XREAD BLOCK): a client's own goroutine carries
// its commands out. Scripts and subscriptions are carried out beside miniredis, with
// its answers but faster ([Mini.Hook]); PUBSUB does not count such subscriptions.
//
// # On failure
//
// A missing redis-server fails the test with what to install; nothing is skipped.
package redistest
