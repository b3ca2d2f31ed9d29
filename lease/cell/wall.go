package cell

import (
	"context"
	"time"
)

type wallKey struct{}

// WithWall makes the cells under a context read the wall clock through read, which
// turns a reading of this machine's clocks into what the wall shows. It lets a
// test set the clock of one node.
func WithWall(parent context.Context, read func(time.Time) time.Time) context.Context {
	return context.WithValue(parent, wallKey{}, read)
}

// Wall returns how a reading of the clocks is turned into what the wall shows,
// under a context.
func Wall(ctx context.Context) func(time.Time) time.Time {
	if read, ok := ctx.Value(wallKey{}).(func(time.Time) time.Time); ok {
		return func(t time.Time) time.Time { return read(t.Round(0)) }
	}
	return wall
}

// wall is what the machine's own clock shows: Round(0) strips the monotonic reading.
func wall(t time.Time) time.Time { return t.Round(0) }
