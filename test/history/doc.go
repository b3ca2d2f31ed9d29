// Package history records the lease operations of a run and checks that one lease
// with a TTL and a token could have answered so, whatever the order in which
// concurrent operations took effect.
//
// # Owns
//
// The sequential model of a lease ([Model]): who holds it, its token, whether Redis has
// a counter, and which operation set its deadline. The reading of the lease scripts'
// calls and replies as they pass on the wire ([Recorder]).
//
// # Invariants
//
//   - A grant is legal only while the lease is free, with the token one above the last,
//     or, where there is no counter, with the server's time, above every token before.
//   - Each accepted acquire or renew ends on time: an expiry is an operation of its own,
//     called one TTL after the operation it ends was called and over one TTL after that
//     was answered. It does nothing once the lease was renewed, released or taken anew.
//   - An operation whose outcome nobody saw may have taken effect at any time, or never.
//     A lease that it took or renewed may run out at any time.
//   - Sessions are independent of each other: a history is legal if each session's is.
//
// # Not promised
//
// What the scripts answer beyond ownership: rhythm, results, the wait for the next slot.
//
// # On failure
//
// The session is named with the operations that fit no order, and porcupine's picture
// of them is written to a file.
package history
