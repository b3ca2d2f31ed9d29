// Package supervisor is the root of a node's actors.
//
// # Owns
//
// The renewer and the membership actor: their making, their replacement and the
// order of their stopping.
//
// # Invariants
//
//   - Renewer and membership live and die together: if one fails the other is
//     stopped, all pollers with it, and a new pair is made after a growing wait,
//     under new names. It claims like a new node would.
//   - Too many failures in a window, or one of the supervisor's own, end the node,
//     with the reason.
//   - Stop order: membership hands its leases back, each after its poll has ended;
//     then it stops, and the renewer last, since it carries the releases.
//
// # Not promised
//
// That a drain ends: whoever asked for it sets the limit.
//
// # On failure
//
// A failed pair leaves its leases to the next pair, which finds them its own, or to
// their TTL.
package supervisor
