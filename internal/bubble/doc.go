// Package bubble runs Ginkgo specs in virtual time.
//
// # Owns
//
// The one *testing.T of a suite, in which every spec opens its own
// [testing/synctest] bubble.
//
// # Invariants
//
//   - A spec ends only when all goroutines that it started have ended.
//   - A failed assertion on the spec's own goroutine becomes an ordinary Ginkgo
//     failure at its own line; any other panic stays a panic.
//
// # Not promised
//
// Time stands still while a goroutine waits on something outside the bubble: no
// real sockets, no processes, and no name look-ups (a look-up in one bubble even
// crashes a later one), so dial IP addresses. Assertions belong on the spec's own
// goroutine. Make clients and actor systems inside [Run], never in a BeforeEach,
// and leave a SpecContext outside.
//
// # On failure
//
// A bubble whose goroutines are still blocked at its end panics. Close clients
// and subscriptions, stop the actor system, then let a second pass ([Settle]).
package bubble
