package redisevents

import "strings"

const (
	// neededFlags are the fewest that serve; doc.go says what each is for.
	neededFlags = "KEgx$e"
	// flagA stands for coveredByA.
	flagA      = "A"
	coveredByA = "g$lshzxetd"
)

// missingFlags returns the needed flags that have does not contain, in the order
// of neededFlags.
func missingFlags(have string) string {
	var missing strings.Builder
	for _, f := range neededFlags {
		covered := strings.Contains(have, flagA) && strings.ContainsRune(coveredByA, f)
		if !covered && !strings.ContainsRune(have, f) {
			missing.WriteRune(f)
		}
	}
	return missing.String()
}

// unionFlags returns have with what is needed added: nobody's flag is dropped.
func unionFlags(have string) string {
	return have + missingFlags(have)
}
