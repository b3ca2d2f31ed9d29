// Package fleet tries fleets of real node processes on a real redis-server under
// faults: killed, stopped, frozen, their Redis restarted, their input wrong.
//
// # Owns
//
// The processes that a trial starts, its Redis and its poll target. Each trial has its
// own of each, on free ports, and environments that hold nothing but its settings.
//
// # Invariants
//
//   - What a trial claims is judged from the target's record and from Redis by package
//     check, never from what a node says of itself. Logs tell when to go on.
//   - Every trial is judged for what always holds: no two polls of a session overlap,
//     polls come from the owner, tokens never fall.
//   - Every line of a node's stderr is one JSON object of less than 4 kB; a panic or an
//     exit that nobody asked for fails the trial.
//   - A process that a trial started has ended when the trial ends.
//   - Nothing is asserted tighter than the public contract. Figures are logged.
//
// # Not promised
//
// Reading a lease past its deadline makes Redis announce it. Where takeover times are
// measured, the samples come from a replica, which cannot help the nodes so.
//
// # On failure
//
// The last lines of each node are printed.
package fleet
