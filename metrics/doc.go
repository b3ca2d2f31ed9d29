// Package metrics is what a node shows at /metrics.
//
// # Owns
//
// The names, labels and meanings of the metrics, which are an interface for dashboards
// and alerts: they are added to, never changed. docs/metrics.md is made from them.
//
// # Invariants
//
//   - What happens is counted from the log's events: whatever is logged, at whichever
//     level, is counted, and every kind of event is either counted or named as one
//     that is not. What lasts is read from the node when it is asked.
//   - The values of every label are a closed set, in the code: no ID of a session or
//     an instance, no address, no text of an error is one. What belongs to none of them
//     counts as "other".
//   - Counting costs nanoseconds and allocates nothing: every label's counter was
//     looked up beforehand. Being asked blocks no actor.
//   - All series are there from the start, with zero, so that a first event is a rise.
//
// # Not promised
//
// That two metrics of one answer are of the same moment.
//
// # On failure
//
// A part of the node that can not be read is left out of the answer.
package metrics
