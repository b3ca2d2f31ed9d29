// Package eventlog is every line that a node logs, as a type.
//
// # Owns
//
// The names, levels and fields of the log events, which are an interface for
// users and tests: they are added to, never changed. It also turns the actor
// library's own log records into lines of the same form.
//
// # Invariants
//
//   - One JSON object a line, each shorter than 4 kB, so that several processes
//     can share one pipe without tearing each other's lines.
//   - A session ID of up to 512 bytes stands whole in its line, whatever it
//     contains; all else is cut where the line would grow too long.
//   - Above 100 of one event within a second, the rest are lines at debug, and
//     one line at info counts them when the second has ended. While that goes on, the
//     second becomes two, four, eight and then ten.
//   - URLs in errors and reasons lose their user part.
//   - No actor waits for the reader of the log: a line is queued, and a goroutine
//     that lives only while there is something to write writes it.
//
// # Not promised
//
// That a line is written when Emit returns; [Log.Close] waits for that. That a
// caller's own fields hold no secret: a document's body or a header never belongs
// into an event.
//
// # On failure
//
// A writer that fails loses the lines and nothing else. A writer that stalls
// fills the queue of 4 MiB; what finds no room is dropped, counted, and reported
// by one `log.dropped` line once the writer moves again.
package eventlog
