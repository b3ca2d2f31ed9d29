// Package renewer is the actor that renews and releases all leases of a node, in
// batches.
//
// # Owns
//
// The renewal cycle of each TTL in use, the retries of renewals that failed, and
// the queue of releases. It is the only writer of a lease cell's deadline.
//
// # Invariants
//
//   - A cell is extended to the moment the accepted renewal was SENT + TTL −
//     margin, never from the reply.
//   - In every cycle the heartbeat goes first and the leases right after, in one
//     burst: a dead node's heartbeat runs out before the first of its leases.
//   - A refused renewal kills the cell at once. A renewal without an answer
//     suspends it (no new polls) and is retried while the cell lives.
//   - A lease is released only when its holder asks, once; from then on it is not
//     renewed.
//
// # Not promised
//
// That a release reaches Redis. What cannot be released runs out by its TTL.
//
// # On failure
//
// One slow or failing batch delays no other, and a server of several that hangs only
// its own. Cells end by their own timers, with
// or without this actor. If the machine slept, all cells whose deadline passed on
// the wall clock are ended.
package renewer
