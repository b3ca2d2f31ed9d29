// Package node assembles one node of a fleet from its parts.
//
// # Owns
//
// The parts and the order in which they start and stop.
//
// Beside the actors it looks, now and then, for what no event tells: sessions that are
// overdue, and states whose sessions have gone.
//
// A node polls the fleet's sessions by plan (package membership). One without a poll
// function leases what its process asks for (package keeper), and may do so without
// being a member of the fleet.
//
// # Invariants
//
//   - The first heartbeat is written, or has failed, before the actors look at the
//     fleet.
//   - A drain goes in this order: the heartbeat is removed, so that the others
//     plan without this node; no more is claimed; each poll ends, then its lease is
//     released; the actors stop; the event listener and the heart stop.
//   - [Node.Close] ends everything that Start began, also after a failed drain.
//     Leases that are held then run out.
//
// # Not promised
//
// The Redis client and the poll function stay the caller's to close.
//
// # On failure
//
// [Node.Failed] delivers the reason when the node can't go on.
package node
