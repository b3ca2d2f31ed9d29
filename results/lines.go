package results

import (
	"context"
	"io"
	"slices"
)

// Lines writes each event as one line of JSON, to standard output for example.
type Lines struct{ w io.Writer }

// NewLines returns a sink over the writer.
func NewLines(w io.Writer) Lines { return Lines{w: w} }

// Name is what LEASEHOLD_RESULT_SINKS calls it.
func (Lines) Name() string { return "stdout" }

// Lanes is one: a writer takes one line at a time.
func (Lines) Lanes() int { return 1 }

// Deliver writes the line. It can't be interrupted: a reader that stalls keeps it.
func (l Lines) Deliver(_ context.Context, m Message) error {
	_, err := l.w.Write(append(slices.Clip(m.JSON), '\n'))
	return err
}
