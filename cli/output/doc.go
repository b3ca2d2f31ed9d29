// Package output prints what the commands found: as a table for people, and as JSON,
// YAML or names for programs.
//
// # Owns
//
// The formats, and what of them is the same for all kinds of things: columns, order,
// colors, escaping.
//
// # Invariants
//
//   - What is printed in a table, or as a name, has no control characters: an ID that
//     somebody wrote can't steer a terminal.
//   - JSON and YAML hold the same fields under the same names, in the same order.
//   - Lines and names are printed as they come; the rest when all is there, so that it
//     can be sorted and aligned.
//   - Colors are used only where they are asked for.
//
// # Not promised
//
// That tables stay as they are: programs read JSON.
//
// # On failure
//
// The error of the writer is returned by whatever was printing.
package output
