// Package doctor looks whether a Redis and the settings are fit for a fleet, before
// anything depends on them.
//
// # Owns
//
// The checks, each with what it found and the exact fix, and [Rights], the one list of
// what a node needs to be allowed.
//
// # Invariants
//
//   - Nothing of a fleet is changed. What is written are throwaway keys under
//     poll:doctor:{random}:, with a TTL, removed at the end; what is tried on other
//     names changes nothing there.
//   - A server that refuses to answer a question, as managed ones do, is not blamed:
//     the finding is [Unknown] and says how to look.
//   - Every call is bounded. No finding holds a password.
//
// # Not promised
//
// That what was fit stays so.
//
// # On failure
//
// Run always returns a report. Without an answer of Redis it ends with that finding.
package doctor
