package config

import (
	"fmt"
	"strings"
)

// Fault is one setting that can't be used.
type Fault struct {
	// Name is the variable's.
	Name string
	// Value is what it was set to, secrets masked; HasValue is false where it is
	// not to be shown.
	Value    string
	HasValue bool
	Source   Source
	// Rule says what would be right.
	Rule string
}

// String returns the fault as one line.
func (f Fault) String() string {
	var b strings.Builder
	b.WriteString(f.Name)
	if f.HasValue {
		fmt.Fprintf(&b, "=%q", clip(f.Value))
	}
	switch f.Source {
	case Flag:
		fmt.Fprintf(&b, " (from %s)", FlagName(f.Name))
	case Default:
		b.WriteString(" (the default)")
	case Env:
	}
	return b.String() + ": " + f.Rule
}

// Faults are all that is wrong, in the order of Vars.
type Faults []Fault

// Error returns all faults, one a line.
func (f Faults) Error() string {
	lines := make([]string, len(f))
	for i, fault := range f {
		lines[i] = fault.String()
	}
	return strings.Join(lines, "\n")
}

// clip keeps a value from flooding the terminal.
func clip(s string) string {
	const most = 200
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
