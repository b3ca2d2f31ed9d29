// Package results is what becomes of the results of polls: their one form, and the
// ways out of a node.
//
// # Owns
//
// The shape of a result as a CloudEvent, for the stream in Redis and for every sink;
// the queues in front of the sinks; the counts of what was recorded, refused by the
// fence, delivered and dropped.
//
// # Invariants
//
//   - [Encode] is the only place that builds an event.
//   - No two results have the same ID, and (token, sequence) of a session only grows:
//     who keeps the highest pair knows a late result when it comes.
//   - Sinks get what Redis recorded under a valid token, nothing else.
//   - [Hub.Recorded] never waits: each sink has a queue of its own, and what finds no
//     room pushes the oldest out. So no sink delays a poll, a renewal or another sink.
//   - What one sink gets of one session comes in its order.
//
// # Not promised
//
// That every result reaches every sink: a crash loses what is queued, a sink that is
// too slow or away for long loses the oldest. That none comes twice: a delivery whose
// answer was lost is repeated, with the same ID.
//
// # On failure
//
// What is dropped is counted, and told by `result.dropped` lines, one in ten seconds
// at most for each sink, and all of it within ten seconds. What a sink has in hand when
// the hub has closed is counted only.
package results
