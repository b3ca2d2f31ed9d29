package cell

import (
	"context"
	"sync"
	"time"
)

// Set is cells that somebody watches, such as those under which polls are in flight.
// All methods may be called from any goroutine; those of a nil Set do nothing.
type Set struct {
	mu    sync.Mutex
	cells map[*Cell]struct{}
	over  bool // by EndWith
	cause error
}

// NewSet returns an empty set.
func NewSet() *Set { return &Set{cells: make(map[*Cell]struct{})} }

// Add takes a cell in, until Remove.
func (s *Set) Add(c *Cell) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cells[c] = struct{}{}
	if s.over {
		c.endWith(s.cause)
	}
}

// EndWith has those who wait for the end of a cell of the set hear of it when ctx, the
// cells' parent, has ended: one watch for all.
func (s *Set) EndWith(ctx context.Context) {
	context.AfterFunc(ctx, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.over, s.cause = true, context.Cause(ctx)
		for c := range s.cells {
			c.endWith(s.cause)
		}
	})
}

// Remove lets a cell go.
func (s *Set) Remove(c *Cell) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.cells, c)
}

// Has reports whether there is a cell of the session. It goes through all.
func (s *Set) Has(session string) bool {
	if s == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.cells {
		if c.Grant().Session == session {
			return true
		}
	}
	return false
}

// Len is how many there are.
func (s *Set) Len() int {
	if s == nil {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.cells)
}

// Living counts the cells that have not ended, and lets the others go.
func (s *Set) Living() int {
	if s == nil {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.cells {
		if !c.Alive() {
			delete(s.cells, c)
		}
	}
	return len(s.cells)
}

// Shortest returns the least trust that is left in a cell that has not ended. It is
// false where there is none.
func (s *Set) Shortest(now time.Time) (left time.Duration, ok bool) {
	if s == nil {
		return 0, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.cells {
		until, alive := c.trusted()
		if !alive {
			continue
		}
		if d := max(0, until.Sub(now)); !ok || d < left {
			left, ok = d, true
		}
	}
	return left, ok
}

// Overdue counts the cells that ended more than grace ago and are still in the set.
func (s *Set) Overdue(now time.Time, grace time.Duration) int {
	if s == nil {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for c := range s.cells {
		if ended := c.Ended(); !ended.IsZero() && now.Sub(ended) > grace {
			n++
		}
	}
	return n
}
