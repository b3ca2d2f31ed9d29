// Package check judges the history of a fleet: what the poll target recorded, and what
// was read from Redis meanwhile. No node's word counts.
//
// # Owns
//
// The meaning of the contract's promises for recorded facts. Each check is a pure
// function from a [History] to a [Verdict]; it reads no clock and changes nothing.
//
// # Invariants
//
//   - A verdict passes only with enough evidence: too few polls or samples are an error
//     of their own ([NotEnough]), since a history of nothing breaks no promise.
//   - Every violation is a typed value that names the session and the facts, with a text
//     for people.
//   - What the target cannot order is not judged: [Blur] for the starts of requests from
//     different connections, and as much for seeing that a client has gone. An overlap of
//     polls that were both answered is always a violation, however short.
//   - All moments are on one clock, that of the target's Record.From and Target.Now.
//   - The order in which the facts are given does not matter.
//
// # Not promised
//
// That what lay between two samples is known: a lease is judged only where a sample is
// near. Nor that the target's clock is Redis': a tolerance is an argument, not a guess.
//
// # On failure
//
// A check never panics on facts that contradict each other; it reports them.
package check
