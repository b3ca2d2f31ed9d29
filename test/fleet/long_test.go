package fleet

import (
	"os"
	"testing"
)

// long marks a trial of more than 20 s: it runs only where LONG is set, as
// `make fleet` does.
func long(t *testing.T) {
	t.Helper()
	if os.Getenv("LONG") == "" {
		t.Skip("takes more than 20 s: make fleet runs it")
	}
	t.Parallel()
}
