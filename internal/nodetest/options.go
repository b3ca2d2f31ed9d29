package nodetest

import (
	"time"

	"leasehold/eventlog"
	"leasehold/node"
)

// Options change how a fleet is made.
type Options struct {
	// Sweep is how often the emulator of events compares all keys: see emulator.Options.
	Sweep time.Duration
	// LogLevel is the nodes': debug. Quiet nodes log nothing.
	LogLevel eventlog.Level
	Quiet    bool
	// Node, if set, changes the settings of every node.
	Node func(*node.Config)
}
