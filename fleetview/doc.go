// Package fleetview reads what a fleet keeps in Redis and says how it is: in which
// state each session is, who should have it by the plan that the nodes make, and what
// is wrong.
//
// # Owns
//
// The picture of sessions, nodes and leases as the API and the operator's commands
// show it: the names of its fields, and the words for its states.
//
// # Invariants
//
//   - Documents are judged as the nodes judge them, and the plan is the nodes': the
//     same planner, fed with the same holders.
//   - Reading goes in batches, never by KEYS, and keeps no server busy for long.
//   - Nothing is written. What a lease past its deadline loses by being read is what
//     its deadline took.
//   - No secret of a document is shown.
//
// # Not promised
//
// One moment: a lease, its token and its polls are of one, two sessions are not. Whom
// a node takes for full at the moment is not in Redis; the plan here knows only the
// limit that a node has published.
//
// # On failure
//
// A read that gets no answer is an error, and the picture is not given: nothing counts
// as free or lost because it could not be read.
package fleetview
