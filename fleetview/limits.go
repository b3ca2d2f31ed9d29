package fleetview

import "fmt"

// Level says how bad a fleet is, by the numbers of Nagios.
type Level int

// The levels.
const (
	LevelOK Level = iota
	LevelWarning
	LevelCritical
)

// String is the level's name, as Nagios has it.
func (l Level) String() string {
	switch l {
	case LevelOK:
		return "OK"
	case LevelWarning:
		return "WARNING"
	case LevelCritical:
	}
	return "CRITICAL"
}

// Limit says from which count on something is bad; 0: never.
type Limit struct{ Warning, Critical int }

// Limits are those of a fleet.
type Limits struct {
	// MinNodes is how many nodes must be alive at least.
	MinNodes int
	// Unleased counts the sessions of which nobody polls any: those that nobody has
	// leased, and those that are leased by a node that is gone.
	Unleased, Overdue, Failing, Invalid Limit
	// Barred counts the sessions that a key of another type keeps from being leased.
	Barred Limit
	// FailingPercent warns where more than so many of a hundred sessions that nodes poll
	// fail, whatever Failing.Warning is; 0: that counts.
	FailingPercent int
}

// Check says what is wrong with the limits, by the flags that set them.
func (l Limits) Check() error {
	for _, limit := range []struct {
		flag string
		n    int
	}{
		{"min-nodes", l.MinNodes},
		{"unleased-warn", l.Unleased.Warning},
		{"unleased-crit", l.Unleased.Critical},
		{"barred-warn", l.Barred.Warning},
		{"barred-crit", l.Barred.Critical},
		{"overdue-warn", l.Overdue.Warning},
		{"overdue-crit", l.Overdue.Critical},
		{"failing-warn", l.Failing.Warning},
		{"failing-crit", l.Failing.Critical},
		{"invalid-warn", l.Invalid.Warning},
		{"invalid-crit", l.Invalid.Critical},
	} {
		if limit.n < 0 {
			return fmt.Errorf("--%s=%d: must not be negative", limit.flag, limit.n)
		}
	}
	return nil
}

// Count is one of the counts that are judged.
type Count struct {
	Name  string
	Value int
	Limit

	// Of is of how many its warning is a share; 0: of none.
	Of int
	// Least says that the limits are the least that is well, and not the first that is
	// bad.
	Least bool
}

// Verdict is how bad a fleet is, and why.
type Verdict struct {
	Level   Level
	Reasons []string // the worst first; none: all is well
	Counts  []Count
}

// Judge judges a fleet.
func (l Limits) Judge(s *Summary) Verdict {
	failing := Count{Name: "failing", Value: s.States[Failing], Limit: l.Failing}
	if l.FailingPercent > 0 {
		failing.Of = s.States[OK] + s.States[Failing]
		failing.Warning = failing.Of*l.FailingPercent/100 + 1 // the first count above it
	}
	v := Verdict{Counts: []Count{
		{Name: "nodes", Value: s.Members, Limit: Limit{Critical: l.MinNodes}, Least: true},
		{Name: "sessions", Value: s.Sessions},
		{Name: "unleased", Value: s.States[Unleased] + s.States[Orphaned], Limit: l.Unleased},
		{Name: "barred", Value: s.Barred, Limit: l.Barred},
		{Name: "overdue", Value: s.Late, Limit: l.Overdue},
		failing,
		{Name: "invalid", Value: s.States[Invalid], Limit: l.Invalid},
		{Name: "paused", Value: s.States[Paused]},
		{Name: "spread", Value: s.Spread()},
	}}
	for level := LevelCritical; level > LevelOK; level-- {
		for _, c := range v.Counts {
			if c.level() == level {
				v.Level = max(v.Level, level)
				v.Reasons = append(v.Reasons, c.reason())
			}
		}
	}
	return v
}

func (c Count) level() Level {
	is := func(limit int) bool {
		switch {
		case limit == 0:
			return false
		case c.Least:
			return c.Value < limit
		}
		return c.Value >= limit
	}
	switch {
	case is(c.Critical):
		return LevelCritical
	case is(c.Warning):
		return LevelWarning
	}
	return LevelOK
}

func (c Count) reason() string {
	if c.Least {
		return fmt.Sprintf("%d %s, fewer than %d", c.Value, c.Name, c.Critical)
	}
	if c.Of > 0 {
		return fmt.Sprintf("%d of %d sessions %s", c.Value, c.Of, c.Name)
	}
	return fmt.Sprintf("%d sessions %s", c.Value, c.Name)
}
