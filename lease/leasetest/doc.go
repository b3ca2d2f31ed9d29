// Package leasetest holds one conformance suite for everything that keeps leases,
// and a wrapper that makes such a store fail on demand ([Flaky]).
//
// # Owns
//
// The specs that every clause of [lease.Store], [lease.Reader], [lease.Ledger],
// [lease.Members], [session.Source] and [session.Pager] has, as Ginkgo specs that run
// on any [Fixture].
//
// # Invariants
//
// The same specs pass on every store; no spec is left out on one of them. Waits
// are of the store's own time, so that a bubble passes them at once.
//
// # Not promised
//
// That miniredis is Redis. What differs (2.40 against 7.0.15), and is not covered
// here on miniredis therefore:
//
//   - It has no keyspace notifications, no CONFIG, no INFO server and no DEBUG.
//   - A key past its deadline is gone at once for everybody; Redis keeps it until
//     it is touched or sampled, and only then announces it.
//   - A TTL ends at its very millisecond; in Redis the key still lives in it.
//   - Every command is answered with its own write, so that a pipeline's replies
//     arrive one by one.
//   - No limits: no OOM, BUSY, LOADING, READONLY, MISCONF or NOPERM replies.
//   - A script is not atomic towards its own failure there either, but is stopped
//     by no time limit; numbers print by Go's rules, not by C's.
//   - SCAN returns everything in one batch, whatever COUNT says.
//
// # On failure
//
// A failing spec names the clause that does not hold.
package leasetest
