// Package config turns the environment and the flags into a checked Config.
//
// # Owns
//
// The settings: [Vars] is the one table from which they are read, checked, masked,
// documented and made into flags. It is the only reader of the environment, but for
// the standard variables of OpenTelemetry: see package tracing.
//
// # Invariants
//
//   - All faults are reported together, each with the variable's name, its value
//     and the rule that it breaks.
//   - A Config that Load returns keeps the relations between the timings: a lease
//     is renewed at least twice within its TTL, and a renewal that is sent in time
//     can be answered before the trust in the lease ends.
//   - What is not set never breaks a relation that no set value breaks by itself,
//     but for the renewal intervals: a shorter TTL needs a shorter interval, and
//     that is for a person to say.
//   - No secret is in an error, in [Config.Settings] or in what fmt prints.
//
// # Not promised
//
// That anything answers at an address, or that the settings of two nodes fit one
// another.
//
// # On failure
//
// Load returns a [Faults] and no Config. It never panics and never guesses.
package config
