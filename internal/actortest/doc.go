// Package actortest watches actors from outside, for specs.
//
// # Owns
//
// An actor system whose log and panics are captured, and probes: actors that
// record what they get and can stand in for a parent.
//
// # Invariants
//
//   - A probe records every message in the order of its arrival, the end of its
//     children included.
//   - All methods may be called from any goroutine; what a probe recorded is
//     complete once the bubble has come to rest.
//
// # Not promised
//
// That a stopped system leaves no timer: call [System.Close] last in a bubble, it
// lets the throttle of dead letters end.
//
// # On failure
//
// A panic of a watched actor is kept, see [System.Failures]; it fails no spec by
// itself.
package actortest
