package redisevents

import "strings"

const (
	// NeededFlags are the fewest that serve; doc.go says what each is for.
	NeededFlags = "KEgx$e"
	// flagA stands for coveredByA.
	flagA      = "A"
	coveredByA = "g$lshzxetd"
)

// MissingFlags returns the needed flags that have does not contain, in the order
// of NeededFlags.
func MissingFlags(have string) string {
	var missing strings.Builder
	for _, f := range NeededFlags {
		covered := strings.Contains(have, flagA) && strings.ContainsRune(coveredByA, f)
		if !covered && !strings.ContainsRune(have, f) {
			missing.WriteRune(f)
		}
	}
	return missing.String()
}

// unionFlags returns have with what is needed added: nobody's flag is dropped.
func unionFlags(have string) string {
	return have + MissingFlags(have)
}
