// Package target is a poll target that remembers what it was asked: the built-in one
// of the demo, and the witness of the fleet tests.
//
// # Owns
//
// The record of every poll of /p/{id}: which session, by whom, with which token, from
// when to when, and whether another poll of the session was in flight. {id} is the
// percent-decoded rest of the path, so every session ID has one path ([Path]). It can
// answer slowly, wrongly, endlessly or never: see [Behavior].
//
//	ANY  /p/{id}?delay=…   a poll, answered as the query and the last setting say
//	POST /set/{id}?delay=… sets how the session is answered from now on
//	GET  /stats            the counters as JSON
//
// # Invariants
//
//   - A poll lasts from when its request line and header were read to when the answer
//     was handed to the connection or the client was seen to have gone, whichever came
//     first.
//   - Two polls of a session overlap if both were in flight at one moment. That the
//     client of a poll has gone is seen only a little later: if the earlier of two polls
//     ends so, within [GoneGrace] of the later one's start, that is no overlap. Nothing
//     else is forgiven.
//   - Without Options.Keep the memory grows with the number of sessions and of polls in
//     flight, not with time.
//
// # Not promised
//
// That a poll which the client has given up is noticed at once where something stands
// between the two, nor that a client that pipelines requests is noticed to go.
//
// # On failure
//
// A line that the log does not take is dropped; polls go on. Closing the server ends
// all polls in flight.
package target
