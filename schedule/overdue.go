package schedule

import "time"

// patience is how many slots a session may let pass before it counts as overdue.
const patience = 2

// Overdue returns for how long a session has been due at now; zero while it has let no
// more than two slots pass. A poll may take as long as its timeout, and its slot counts as
// due meanwhile. A session with no due time yet is not overdue.
func Overdue(p Policy, due, now time.Time, timeout time.Duration) time.Duration {
	if due.IsZero() {
		return 0
	}
	last := due
	for range patience {
		if p.Calendar == nil {
			last = last.Add(whole(p.Interval))
		} else if last = p.Calendar.Next(last); last.IsZero() {
			return 0 // no more slots to miss
		}
	}
	if !now.After(last.Add(timeout)) {
		return 0
	}

	return now.Sub(due)
}
