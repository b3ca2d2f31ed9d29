package sim

import (
	"slices"
	"strconv"
	"time"
)

// losses is what nodes could know of a loss of data from before they started: those that
// saw it leave a note, and those that start ask for one before they claim anything.
type losses struct {
	// ends is when the last note ends; zero where it was lost, or there was none.
	ends time.Time
	// unaware are when somebody asked and there was no note.
	unaware []time.Time
	// claimed is when each instance claimed first.
	claimed map[string]time.Time
}

// noted books a node's note, which lives for so many milliseconds.
func (l *losses) noted(now time.Time, millis string) {
	if n, err := strconv.ParseInt(millis, 10, 64); err == nil {
		l.ends = now.Add(time.Duration(n) * time.Millisecond)
	}
}

// asked books a question.
func (l *losses) asked(now time.Time) {
	if !now.Before(l.ends) {
		l.unaware = append(l.unaware, now)
	}
}

// claims books a claim.
func (l *losses) claims(instance string, now time.Time) {
	if _, known := l.claimed[instance]; !known {
		l.claimed[instance] = now
	}
}

// untold reports whether an instance may have claimed what it did without a word of what
// was lost at a moment: it asked after that, and before its first claim, and there was no
// note.
func (l *losses) untold(instance string, at time.Time) bool {
	first, claimed := l.claimed[instance]
	return claimed && slices.ContainsFunc(l.unaware, func(asked time.Time) bool {
		return !asked.Before(at) && !asked.After(first)
	})
}
