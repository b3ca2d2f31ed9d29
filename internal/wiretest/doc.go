// Package wiretest gives tests a wire between one client and a Redis server that fails
// by direction as networks do, and tells which command was answered how and when.
//
// # Owns
//
// The TCP connections that it carries, and their order of commands and replies.
//
// # Invariants
//
//   - What it tells is what the server said, whether or not the client heard it: a
//     reply that the wire loses is told all the same.
//   - Exchange.Call is before the server can have read the command, Exchange.Return is
//     after it had answered: the command took effect between the two.
//   - A command that the wire lost never takes effect and is not told.
//   - After a loss nothing passes that could be taken for something else: the rest of
//     that direction of the connection is lost too, and Heal closes it.
//
// # Not promised
//
// RESP3. What passes on a connection that has subscribed is carried and not told.
//
// # On failure
//
// Bytes that are no RESP2 end their connection.
package wiretest
