// Package session turns the documents that name poll targets into checked values.
//
// # Owns
//
// What a document may say, what the fields mean that it leaves out, and the
// reason given for one that can't be used. Also [RedactURL]: how a URL is shown.
//
// # Invariants
//
//   - A document that can't be used gives an [*InvalidError] that names the field
//     and the rule, in less than 200 bytes; it never panics, whatever the bytes.
//   - No error carries a secret: of a document's contents at most a short value of
//     a field that holds none, such as the interval, is quoted, or the name of a header
//     or label, as far as it can be one.
//   - The ID in the key is the identity; nothing in the document changes it.
//   - Unknown fields are ignored. Documents are only read, never written back, so
//     their owner keeps them as they are.
//   - Of a field that stands twice the last counts. Field names are case-sensitive.
//   - null, and an empty kind, method or on_failure, mean "not named".
//
// # Not promised
//
// That a session can be reached: no name is looked up and nothing is dialed.
//
// # On failure
//
// The caller skips the document with one warning, and decodes it again when it has
// changed. All functions are pure and may be called from any goroutine.
package session
