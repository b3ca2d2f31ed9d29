// Package tracing makes a span of each HTTP poll and sends it to a collector, where the
// standard variables of OpenTelemetry ask for that.
//
// # Owns
//
// The reading of the OTEL_* variables, the spans' names and attributes, the queue in
// front of the collector, and the requests to it: OTLP over HTTP, as protobuf.
//
// # Invariants
//
//   - Without variables that ask for traces there is no [Tracer], and a poll costs one
//     look at a nil pointer more.
//   - A poll never waits for the collector: the queue is bounded, and what finds it full
//     is dropped and counted. A span is counted once, as sent or as dropped.
//   - No span holds a header, a body, a URL's user part or the value of a query
//     parameter whose name looks like a secret's. No warning and no error holds a value
//     of OTEL_EXPORTER_OTLP_HEADERS, or the user part or path of an endpoint.
//   - No tracer is global: libraries that could trace too stay silent. So does the SDK,
//     which would print errors between the lines of the log.
//
// # Not promised
//
// That a span arrives. Spans of sessions of other kinds, whose polls are no requests. A
// secret in a URL's path is not recognized.
//
// # On failure
//
// A variable that can not be used is named in a warning; traces must not keep a node
// from polling, so it runs with the default, or without traces where there is none. No
// answer, 429, 502, 503 and 504 are tried again within the request's time limit; what
// is lost is logged, one line a minute. [Tracer.Close] sends what is queued, within its
// context.
package tracing
