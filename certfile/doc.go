// Package certfile reads certificates and keys from files, and reads them again
// when they change.
//
// # Owns
//
// Nothing but what it read. The files are the operator's.
//
// # Invariants
//
//   - A certificate and a key are used together only if they fit one another: while
//     one of two files is replaced, the former pair goes on, and [Known] knows it.
//   - No error holds any part of a key.
//
// # Not promised
//
// That a replaced file is noticed where its time of change and its size stay the
// same, nor that connections of before are closed.
//
// # On failure
//
// Load names the file that can not be used. Later, a pair that can not be read leaves
// the former one in place, is told to who wants to hear of it, and is read again when its
// files change.
package certfile
