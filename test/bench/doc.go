// Package bench measures what the fleet costs and how soon it reacts: real processes of
// the program on a real Redis, beside what people use for the same today.
//
// # Owns
//
// The lines of docs/performance.md: one function each, that starts what it needs and
// ends it. make bench-fleet runs them all, ONLY=crash,join those of that name;
// RUNS=3 takes the median of three, FULL=1 the largest sizes, OUT=FILE writes JSON too.
//
// # Invariants
//
//   - Moments of leases come from Redis' own notifications, on a connection of this
//     package's own, at the time that they are read: what is late here counts against us.
//   - A peer is measured in the same run, on the same kind of Redis, by the same watcher.
//
// # Not promised
//
// That a figure holds on another machine. The ratio to the peer does, more or less.
// A figure that misses its limit fails nothing: it says so in the table.
//
// # On failure
//
// A line that can not be measured fails its test; the others go on, and the table is
// printed.
package bench
