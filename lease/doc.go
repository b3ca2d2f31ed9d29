// Package lease holds the words and the arithmetic of owning a session for a
// while, and the interfaces behind which ownership is stored.
//
// # Invariants
//
//   - A [Grant] names one ownership: session, holder and fencing token. Tokens of
//     a session only grow and are never reused for another ownership.
//   - A [Term] is trusted until the attempt was SENT + TTL − margin, never counted
//     from the reply. Redis started its TTL no earlier than the sending, so the
//     holder always stops first.
//   - Renew and Release act on the exact grant: an old one can neither extend nor
//     end a newer one, even of the same holder.
//
// # Not promised
//
// That Redis keeps its word over a failover that loses writes; the token is what
// lets the polled side refuse a stale poll. Nor that the monotonic clock runs
// while the machine sleeps (on Linux it does not): package cell compares the wall
// clock too, and every poll is checked in Redis before it starts.
package lease
