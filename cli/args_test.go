package cli_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"leasehold/internal/redistest"
)

// Whatever stands for an ID or a node on a command line: the command ends with one of
// its exit codes, prints nothing that a terminal obeys, and writes nothing.
func FuzzArguments(f *testing.F) {
	server := redistest.StartServer(f)
	client := server.Client()
	f.Cleanup(func() { _ = client.Close() })
	for _, arg := range []string{
		"", "web", "a b", "a/b", "*", "{x}", "\x1b[31m", "a\nb", "\xff", "a\x00b", "%s", "node-b", "a-1700000000000000000-0123abcd", "-o", "ψ", "\u202e",
		strings.Repeat("x", 513),
	} {
		f.Add(arg)
	}
	if err := client.Set(f.Context(), "poll:node:a-1700000000000000000-0123abcd", 1, 0).Err(); err != nil {
		f.Fatal(err)
	}
	const before = 1
	f.Fuzz(func(t *testing.T, arg string) {
		b := &bench{t: t, redis: server, rdb: client, env: []string{"LEASEHOLD_REDIS_URL=" + server.URL()}}
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
		if n, err := client.DBSize(t.Context()).Result(); err != nil || n != before {
			t.Errorf("%q: Redis has %d keys, %v", arg, n, err)
		}
	})
}

func unprintable(r rune) bool { return r != '\n' && r != '\t' && !unicode.IsPrint(r) }
