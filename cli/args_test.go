package cli_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/alicebob/miniredis/v2"
)

// Whatever stands for an ID or a node on a command line: the command ends with one of
// its exit codes, prints nothing that a terminal obeys, and writes nothing.
func FuzzArguments(f *testing.F) {
	server := miniredis.RunT(f) // within the process: those that fuzz are killed
	for _, arg := range []string{
		"", "web", "a b", "a/b", "*", "{x}", "\x1b[31m", "a\nb", "\xff", "a\x00b", "%s", "node-b", "a-1700000000000000000-0123abcd", "-o", "ψ", "\u202e",
		strings.Repeat("x", 513),
	} {
		f.Add(arg)
	}
	if err := server.Set("poll:node:a-1700000000000000000-0123abcd", "1"); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, arg string) {
		b := &bench{t: t, env: []string{"LEASEHOLD_REDIS_URL=redis://" + server.Addr()}}
		for _, command := range [][]string{
			{"sessions", "get"},
			{"sessions", "results"},
			{"sessions", "run"},
			{"sessions", "pause"},
			{"sessions", "rm"},
			{"explain"},
			{"leases", "get"},
			{"leases", "release", "--force"},
			{"nodes", "get"},
			{"plan", "--without"},
			{"sessions", "ls", "--owner"},
		} {
			args := append([]string{}, command...)
			if strings.HasPrefix(command[len(command)-1], "--") && command[0] != "leases" {
				args[len(args)-1] += "=" + arg
			} else {
				args = append(args, "--", arg)
			}
			got := b.run(args...)
			if got.code < 0 || got.code > 3 {
				t.Errorf("%q: exit %d", args, got.code)
			}
			for _, text := range []string{got.stdout, got.stderr} {
				if i := strings.IndexFunc(text, unprintable); i >= 0 || !utf8.ValidString(text) {
					t.Errorf("%q prints %q", args, text)
				}
			}
		}
		if keys := server.Keys(); len(keys) != 1 {
			t.Errorf("%q: Redis has %q", arg, keys)
		}
	})
}

func unprintable(r rune) bool { return r != '\n' && r != '\t' && !unicode.IsPrint(r) }
