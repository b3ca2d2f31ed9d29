// Package cli holds the operator's commands: they read and edit a fleet's state in
// Redis, and need no node to answer.
//
// # Owns
//
// The command lines, what they print, and their exit codes.
//
// # Invariants
//
//   - Data goes to stdout, what went wrong to stderr. Exit codes: 0 done and well, 1
//     failed, not found or not well, 2 wrong usage or settings.
//   - Settings are read and checked as for a node, so that both mean the same keys.
//   - A lease is ended by the script that the nodes use, and never taken. Nothing here
//     can have two polls of a session in flight.
//   - A document is written whole and only if it can be used; what it has that nobody
//     here knows stays byte for byte. A change never undoes that of somebody else.
//   - Nothing is written where the command line, or a part of the input, is wrong.
//   - No secret is printed: documents are shown as the API shows them.
//
// # Not promised
//
// That what is printed still is: nodes go on meanwhile.
//
// # On failure
//
// A command that lost Redis says what it had done by then; each may be repeated.
package cli
