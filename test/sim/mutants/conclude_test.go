package main

import (
	"errors"
	"testing"
)

func TestAMutantMayEscapeOneSeedAlone(t *testing.T) {
	broken, whole := mutant{name: "m", edits: []edit{{}}}, mutant{name: "w"}
	for name, c := range map[string]struct {
		of     mutant
		caught []string
		err    error
		good   bool
	}{
		"caught from all":         {of: broken, caught: []string{"slot", "slot", "fence"}, good: true},
		"caught from all but one": {of: broken, caught: []string{"slot", "", "fence"}, good: true},
		"caught from one":         {of: broken, caught: []string{"", "", "fence"}},
		"not caught":              {of: broken, caught: []string{"", "", ""}},
		"not caught from the one": {of: broken, caught: []string{""}},
		"not tried":               {of: broken, err: errors.New("does not build")},
		"whole":                   {of: whole, caught: []string{"", "", ""}, good: true},
		"whole, and convicted":    {of: whole, caught: []string{"", "", "slot"}},
	} {
		o := outcome{mutant: c.of, err: c.err}
		for _, check := range c.caught {
			o.trial = append(o.trial, trial{heard: true, caught: check})
		}
		if err := conclude([]outcome{o}); (err == nil) != c.good {
			t.Errorf("%s: %v", name, err)
		}
	}
}
