package check_test

import (
	"os"
	"regexp"
	"testing"
)

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// settings are the variables that are documented, and those of Go's runtime.
func settings(t *testing.T) map[string]bool {
	t.Helper()
	known := map[string]bool{"GOMEMLIMIT": true}
	for _, m := range regexp.MustCompile("(?m)^\\| `(LEASEHOLD_[A-Z_]+)`").FindAllStringSubmatch(read(t, "../../docs/configuration.md"), -1) {
		known[m[1]] = true
	}
	if len(known) < 20 {
		t.Fatalf("docs/configuration.md has %d settings", len(known))
	}
	return known
}
