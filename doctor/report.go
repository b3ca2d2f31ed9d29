package doctor

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// Level says how bad a finding is.
type Level string

// The levels, best first.
const (
	OK      Level = "ok"
	Unknown Level = "unknown" // could not be looked at; no reason to worry by itself
	Warning Level = "warning" // works, and has a price
	Unsafe  Level = "unsafe"  // polls would stand still, or overlap
)

// Finding is what one check found.
type Finding struct {
	Check string `json:"check"`
	// Server is the address in a cluster, where each master is looked at.
	Server string `json:"server,omitempty"`
	Level  Level  `json:"level"`
	Found  string `json:"found"`
	// Fix says exactly what to do; empty where there is nothing to do.
	Fix string `json:"fix,omitempty"`
}

// Report is all that was found, in the order of the checks.
type Report struct {
	Findings []Finding `json:"findings"`
}

// Worst returns Unsafe or Warning where there is such a finding, else OK.
func (r Report) Worst() Level {
	worst := OK
	for _, f := range r.Findings {
		if f.Level == Unsafe || f.Level == Warning && worst == OK {
			worst = f.Level
		}
	}
	return worst
}

// Print writes the report for people: a line for each check, and its fix below.
func (r Report) Print(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, f := range r.Findings {
		found := f.Found
		if f.Server != "" {
			found = f.Server + ": " + found
		}
		fmt.Fprintf(t, "%s\t%s\t%s\n", f.Level, f.Check, found)
		for line := range strings.Lines(f.Fix) {
			fmt.Fprintf(t, "\t\tfix: %s\n", strings.TrimSpace(line))
		}
	}
	return t.Flush()
}
