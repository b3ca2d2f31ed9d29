package cli_test

import "testing"

func TestWhoGivesTooManyArgumentsIsToldWhatTakesThem(t *testing.T) {
	b := newBench(t)
	for _, args := range [][]string{
		{"sessions", "add", "web2", `{"kind":"log"}`},
		{"sessions", "add", "web2", `{"kind":"log"}`, "-f", "-"},
	} {
		b.fails(2, "a document is read from a file (-f FILE) or from standard input (-f -)", args...)
	}
	for _, hint := range []string{"leasehold sessions get web\n", "-l KEY=VALUE", "--state", "--owner"} {
		b.fails(2, hint, "sessions", "ls", "web")
	}
	b.fails(2, "leasehold sessions get 'a b'\n", "sessions", "ls", "a b")
	if keys := b.rdb.Keys(t.Context(), "*").Val(); len(keys) != 0 {
		t.Errorf("%v", keys)
	}
}
