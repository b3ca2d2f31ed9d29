package tenure

import (
	"context"
	"time"

	"leasehold/lease/cell"
)

// ErrGivenBack is the cause of the end of a tenure whose lease is given back.
const ErrGivenBack = causeError("the lease is given back")

type causeError string

// Error implements error.
func (e causeError) Error() string { return string(e) }

// Tenure is the time in which this process has one lease. Its methods may be called
// from any goroutine.
type Tenure struct {
	cell  *cell.Cell
	since time.Time
	ctx   context.Context
	end   context.CancelCauseFunc
}

func begin(c *cell.Cell) *Tenure {
	ctx, end := context.WithCancelCause(c.Context())
	return &Tenure{cell: c, since: time.Now(), ctx: ctx, end: end}
}

// Cell returns the lease's cell.
func (t *Tenure) Cell() *cell.Cell { return t.cell }

// Since is when the tenure began.
func (t *Tenure) Since() time.Time { return t.since }

// Context ends with the lease, or before it is given back. Its cause is the cell's,
// or ErrGivenBack.
func (t *Tenure) Context() context.Context { return t.ctx }

// Usable reports whether new work may start under the lease now.
func (t *Tenure) Usable() bool { return t.ctx.Err() == nil && t.cell.Usable() }
