package main

import (
	"os/exec"
	"testing"
)

// A trial that ended for a reason of its own proves nothing.
func TestOnlyAVerdictConvicts(t *testing.T) {
	for name, c := range map[string]struct {
		script string
		caught string
		broken bool
	}{
		"a verdict":                {`echo 'verdict {"Violation":"stolen: by b","At":1}'; exit 1`, "stolen", false},
		"no violation":             {`echo 'verdict {"Violation":"","At":1}'`, "", false},
		"a violation without end":  {`echo 'panic: no end: 5 commands at 1, first violation: fence: by b' >&2; exit 2`, "fence", false},
		"no end":                   {`echo 'panic: no end: 5 commands at 1, first violation: <nil>' >&2; exit 2`, "no end", false},
		"the same, with the rest":  {`echo 'panic: no end: 5 commands at 1, first violation: <nil>'; exit 2`, "no end", false},
		"too long":                 {`echo 'panic: test timed out after 30m0s' >&2; exit 2`, "", true},
		"another crash":            {`echo 'panic: nil' >&2; exit 2`, "", true},
		"killed":                   {`kill -9 $$`, "", true},
		"a failure after verdicts": {`echo 'verdict {"Violation":"","At":1}'; exit 1`, "", true},
		"silence":                  {`exit 0`, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := follow(exec.Command("sh", "-c", c.script))
			if got.caught != c.caught || (err != nil) != c.broken {
				t.Errorf("caught %q, %v", got.caught, err)
			}
		})
	}
}
