// Package oteltest is a collector of traces for tests: it takes OTLP over HTTP as
// protobuf, and keeps what it gets.
package oteltest
