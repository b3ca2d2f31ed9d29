// Package tenure is the actor that stands for the time in which this process has a
// lease. It is the leaseholder's child where somebody wants to hear of that: in the
// poller's place, with the poller below it, or with none where the process does the
// work by itself.
//
// # Owns
//
// One [Tenure], from its beginning to its end, and the order of what is told of it.
//
// # Invariants
//
//   - A tenure's context ends no later than the lease's cell, and before the lease
//     is given back.
//   - What happens to a tenure is told one thing at a time, in order: acquired,
//     then uncertain and certain in turn, and ended last, once.
//   - The actor ends only after the poller below it has ended, and after that was
//     told: so a lease is given back only when whoever was told has returned.
//   - Whoever is told may take his time. The actor never blocks, unless it is
//     stopped by a failure: then it waits, so that nothing of the process works under
//     the lease when the parent hears of the end.
//
// # Not promised
//
// That work has ended of which the watcher does not know.
//
// # On failure
//
// A poller below that failed ends the tenure: the leaseholder gives the lease back.
// A watcher that never returns keeps the lease, which is renewed on, for as long as
// the node lives.
package tenure
