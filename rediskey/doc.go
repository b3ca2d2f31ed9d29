// Package rediskey names the keys of the fleet in Redis, and reads such names
// back.
//
// # Owns
//
// The form of every key: which prefix says what, where the ID stands, and which
// hash tag puts a session's state into the cluster slot of its lease.
//
// # Invariants
//
//   - Parse gives back the ID that built the key, for every string: colons,
//     braces, newlines and bytes that are no UTF-8 included. The one exception is
//     named at [Keys.Parse].
//   - A session's lease key and state key hash to one cluster slot, so that one
//     script may touch both, for every ID and every prefix that Validate accepts.
//   - A key that none of the methods can have built is [Foreign].
//
// Names never change without a note on migration: other nodes read them.
//
// # Not promised
//
// That an ID in a key is valid: anybody can write a key. Check with [ValidID].
//
// # On failure
//
// Nothing here fails but the checks [Keys.Validate] and [ValidID], which give the
// reason. All functions are pure and may be called from any goroutine.
package rediskey
