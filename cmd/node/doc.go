// Command leasehold runs one node of the fleet, or a whole fleet as a
// demonstration. It is built as bin/leasehold.
//
// # Owns
//
// Settings in, parts wired, process out: the commands, the signals, the exit
// codes, and the only Redis client options.
//
// # Invariants
//
//   - Data goes to stdout, logs and errors to stderr.
//   - Wrong settings are all told at once, before anything is connected.
//   - The first SIGTERM or SIGINT asks for a drain, the second ends the process at
//     once.
//
// # Not promised
//
// That a second signal leaves no lease: those run out by their TTL.
//
// # On failure
//
// Exit codes: 0 success or clean drain, 1 failure, 2 usage or settings, 3 leases
// were left to run out, 130 forced by a second signal.
package main
