// Package basicauth checks names and passwords against a file that htpasswd wrote.
//
// # Owns
//
// What it read of the file, and how much work guessing may cause: checking a password
// is slow on purpose, and the process has leases to renew.
//
// # Invariants
//
//   - Only bcrypt is accepted, up to a cost that a node can bear.
//   - One password is checked at a time, and after a wrong one there is a pause. One
//     that was right before is known again at once, whatever others guess.
//   - A name that is not in the file takes as long as one that is.
//   - No password is kept, and none is in an error.
//
// # Not promised
//
// That a changed file is noticed: it is read once.
//
// # On failure
//
// Load says which line is wrong, without showing it. Who can't be checked in time gets
// [ErrBusy], which says nothing of the password.
package basicauth
