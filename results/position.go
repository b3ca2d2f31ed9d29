package results

import (
	"fmt"
	"strconv"
)

// Position is where a result stands among those of its session. A consumer that keeps
// the highest of each session, and takes only what is after it, refuses what is late
// and what it has seen.
type Position struct{ Token, Sequence int64 }

// After reports whether the result is newer than the other.
func (p Position) After(other Position) bool {
	return p.Token > other.Token || p.Token == other.Token && p.Sequence > other.Sequence
}

// Position returns where the result stands.
func (e Event) Position() (p Position, err error) {
	if p.Token, err = strconv.ParseInt(e.Token, 10, 64); err != nil {
		return Position{}, fmt.Errorf("the token of %q: %w", e.ID, err)
	}
	if p.Sequence, err = strconv.ParseInt(e.Sequence, 10, 64); err != nil {
		return Position{}, fmt.Errorf("the sequence of %q: %w", e.ID, err)
	}
	return p, nil
}
