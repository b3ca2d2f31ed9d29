// Package doctest keeps what the documentation says of the code true.
//
// # Owns
//
// The comparison of a document, or a part of one, with what the code says.
//
// # Invariants
//
//   - A part stands between the comments "<!-- name:begin -->" and "<!-- name:end -->".
//   - Nothing is written, unless WRITE_DOCS is set: see `make docs`.
//
// # On failure
//
// The test fails that compares.
package doctest

import (
	"os"
	"strings"
	"testing"
)

// Section has the test fail if the named part of the document at path is not want. With
// WRITE_DOCS set in the environment it is made so instead.
func Section(t *testing.T, path, name, want string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	begin, end := "<!-- "+name+":begin -->\n", "<!-- "+name+":end -->"
	before, rest, found := strings.Cut(string(text), begin)
	got, after, ended := strings.Cut(rest, end)
	switch {
	case !found || !ended:
		t.Fatalf("%s lacks the markers of %s", path, name)
	case got == want:
	case os.Getenv("WRITE_DOCS") == "":
		t.Errorf("%s differs from the code in %s; run 'make docs'. It should have\n%s", path, name, want)
	default:
		if err := os.WriteFile(path, []byte(before+begin+want+end+after), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// File has the test fail if the text at path is not want. With WRITE_DOCS set in the
// environment it is made so instead.
func File(t *testing.T, path, want string) {
	t.Helper()
	got, err := os.ReadFile(path)
	switch {
	case err == nil && string(got) == want:
	case os.Getenv("WRITE_DOCS") == "":
		t.Errorf("%s differs from the code (%v); run 'make docs'", path, err)
	default:
		if err := os.WriteFile(path, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
