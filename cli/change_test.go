package cli_test

import (
	"fmt"
	"strings"
	"testing"
)

func TestWhatWasEditedIsToldInEveryFormat(t *testing.T) {
	b := newBench(t)
	input := b.file(`{"id":"a","kind":"log"}` + "\n" + `{"id":"b","kind":"log"}`)
	lines := func(pairs ...string) string {
		var text strings.Builder
		for i := 0; i < len(pairs); i += 2 {
			fmt.Fprintf(&text, "{\"session_id\":%q,\"change\":%q}\n", pairs[i], pairs[i+1])
		}
		return text.String()
	}
	for _, c := range []struct{ args, want string }{
		{"add -f " + input + " --dry-run -o jsonl", lines("a", "would be added", "b", "would be added")},
		{"add -f " + input + " -o name", "a\nb\n"},
		{"add a -f " + b.file(`{"kind":"log","interval":"1s"}`) + " --replace -o jsonl", lines("a", "replaced")},
		{"add -f " + input + " --replace -o jsonl", lines("b", "unchanged", "a", "replaced")},
		{"pause a b -o json", "[\n  {\n    \"session_id\": \"a\",\n    \"change\": \"paused\"\n  },\n  {\n    \"session_id\": \"b\",\n    \"change\": \"paused\"\n  }\n]\n"},
		{"pause a -o jsonl", lines("a", "unchanged")},
		{"resume b -o yaml", "- session_id: b\n  change: resumed\n"},
		{"resume a -o table", "a resumed\n"},
		{"rm a -o jsonl", lines("a", "removed")},
		{"rm --all --yes -o jsonl", lines("b", "removed")},
		{"rm --all --yes -o json", "[]\n"},
	} {
		if got := b.ok(append([]string{"sessions"}, strings.Fields(c.args)...)...); got != c.want {
			t.Errorf("sessions %s: %q, want %q", c.args, got, c.want)
		}
	}
}

// What was done before something failed is told all the same.
func TestEditsAreToldAlsoWhereOneFails(t *testing.T) {
	b := newBench(t)
	b.ok("sessions", "add", "a", "-f", b.file(`{"kind":"log"}`))
	got := b.run("sessions", "pause", "a", "nope", "-o", "json")
	if got.code != 1 || !strings.Contains(got.stdout, `"a"`) || strings.Contains(got.stdout, "nope") || !strings.Contains(got.stderr, "session nope") {
		t.Errorf("%+v", got)
	}
}
