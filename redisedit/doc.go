// Package redisedit writes session documents, for the operator's commands.
//
// # Owns
//
// The hand of the fleet's user in Redis. It touches the documents alone, never a key
// that the fleet owns.
//
// # Invariants
//
//   - An edit takes effect on the document that it was made from, or not at all: what
//     somebody else wrote meanwhile is read, and edited, again.
//   - A key of another type than a string is no document, and never touched.
//   - An edit keeps the document's expiry, if it has one.
//   - Every command ends by its timeout.
//
// # Not promised
//
// That many are written at once: each document is by itself, and when Redis is lost in
// the middle some are written. All of it may be repeated.
//
// # On failure
//
// An error means "unknown" for the document that it is about: it may have been
// written.
package redisedit
