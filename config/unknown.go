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
	names := make([]string, len(vars))
	for i, v := range vars {
		names[i] = v.Name
	}
	for _, name := range slices.Sorted(maps.Keys(env)) {
		if !strings.HasPrefix(name, prefix) || injected(name) ||
			slices.Contains(names, name) {
			continue
		}
		rule := "is no setting"
		if best := Nearest(name, names, len(prefix)); best != "" {
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

// Nearest returns the one of the names that is fewest edits away from a slip; empty
// where even that is far. So many bytes at the beginning say nothing, since all have
// them. Of equals, the first.
func Nearest(slip string, names []string, common int) string {
	if len(slip) > 64 {
		return ""
	}
	best, least := "", 1+(len(slip)-common)/3
	for _, name := range names {
		if d := distance(slip, name); d < least {
			best, least = name, d
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
