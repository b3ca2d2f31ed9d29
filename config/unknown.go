package config

import (
	"maps"
	"slices"
	"strings"
)

// unknown returns a fault for each variable with our prefix that is no setting:
// a slip in a name would otherwise run a fleet with a default. Its value is not
// shown, since nobody knows whether it is a secret.
func unknown(vars []Var, env map[string]string) Faults {
	var all Faults
	for _, name := range slices.Sorted(maps.Keys(env)) {
		if !strings.HasPrefix(name, prefix) || injected(name) ||
			slices.ContainsFunc(vars, func(v Var) bool { return v.Name == name }) {
			continue
		}
		rule := "is no setting"
		if best := nearest(name, vars); best != "" {
			rule += "; did you mean " + best + "?"
		}
		all = append(all, Fault{Name: clip(name), Source: Env, Rule: rule})
	}
	return all
}

// injected reports whether Kubernetes sets the variable for a Service that is
// called leasehold.
func injected(name string) bool {
	return name == "LEASEHOLD_PORT" ||
		strings.HasPrefix(name, "LEASEHOLD_PORT_") || strings.HasPrefix(name, "LEASEHOLD_SERVICE_")
}

// nearest returns the setting whose name is fewest edits away; empty where even
// that is far. Of equals, the first in the table.
func nearest(name string, vars []Var) string {
	if len(name) > 64 {
		return ""
	}
	best, least := "", 1+(len(name)-len(prefix))/3
	for _, v := range vars {
		if d := distance(name, v.Name); d < least {
			best, least = v.Name, d
		}
	}
	return best
}

// distance counts the edits that make b of a (Levenshtein).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
