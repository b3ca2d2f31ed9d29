package cli_test

import (
	"bytes"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"leasehold/cli"
)

// screen is a writer that may be read meanwhile.
type screen struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// watch runs a command until the screen shows what is wanted, and then interrupts it.
func (b *bench) watch(change func(*cli.Deps), until func(shown string) bool, args ...string) (reply, string) {
	b.t.Helper()
	shown, signals := &screen{}, make(chan os.Signal)
	b.deps = func(d *cli.Deps) { d.Stdout, d.Signals = shown, signals; change(d) }
	ended := make(chan reply, 1)
	go func() { ended <- b.run(args...) }()
	for deadline := time.Now().Add(15 * time.Second); !until(shown.String()); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			b.t.Fatalf("%v shows %q", args, shown)
		}
	}
	select {
	case signals <- os.Interrupt:
	case got := <-ended:
		b.t.Fatalf("%v ended by itself: %+v", args, got)
	}
	return <-ended, shown.String()
}

func TestWatchingGoesOnUntilASignal(t *testing.T) {
	b := newBench(t)
	b.put("s1", `{"kind":"log"}`)
	got, shown := b.watch(func(*cli.Deps) {}, func(s string) bool {
		if strings.Count(s, "\n") == 1 {
			b.put("s2", `{"kind":"log"}`)
		}
		return strings.Contains(s, "s2")
	}, "sessions", "ls", "--watch", "-o", "jsonl")
	if got.code != 0 || strings.ContainsRune(shown, '\x1b') || strings.Count(shown, `"s1"`) != 2 {
		t.Errorf("%+v: %s", got, shown)
	}
	clearing := "\x1b[H\x1b[2J"
	got, shown = b.watch(func(d *cli.Deps) { d.Terminal = true }, func(s string) bool {
		return strings.Count(s, clearing) == 2
	}, "status", "--watch")
	if got.code != 0 || !strings.Contains(shown, "unhealthy") {
		t.Errorf("%+v: %s", got, shown)
	}
	got = b.run("sessions", "ls", "--watch", "--sort-by", "nope")
	if got.code != 2 {
		t.Errorf("wrong usage is watched: %+v", got)
	}
}

func TestColorsAreForTerminalsThatWantThem(t *testing.T) {
	b := newBench(t)
	b.everyState()
	out := func(terminal bool, env ...string) string {
		plain := b.env
		b.env = slices.Concat(plain, env)
		b.deps = func(d *cli.Deps) { d.Terminal = terminal }
		defer func() { b.env = plain }()
		return b.run("sessions", "ls").stdout
	}
	if got := out(true); !strings.Contains(got, "\x1b[31munleased\x1b[0m") || !strings.Contains(got, "\x1b[32mok\x1b[0m") {
		t.Errorf("a terminal has no colors: %q", got)
	}
	for _, got := range []string{out(false), out(true, "NO_COLOR=1"), out(true, "TERM=dumb")} {
		if strings.ContainsRune(got, '\x1b') {
			t.Errorf("%q", got)
		}
	}
	if got := out(true, "NO_COLOR="); !strings.ContainsRune(got, '\x1b') {
		t.Error("an empty NO_COLOR counts")
	}
}

// typist is a terminal on which nobody types.
type typist struct {
	t      *testing.T
	waited func()
}

func (r typist) Read([]byte) (int, error) {
	r.waited()
	<-r.t.Context().Done()
	return 0, io.EOF
}

func TestASignalEndsACommandThatWaitsForItsInput(t *testing.T) {
	b := newBench(t)
	signals := make(chan os.Signal, 1)
	b.deps = func(d *cli.Deps) {
		d.Stdin, d.Signals = typist{t, func() { signals <- os.Interrupt }}, signals
	}
	got := b.run("sessions", "add", "-f", "-")
	if got.code != 130 || !strings.Contains(got.stderr, "interrupted") {
		t.Errorf("%+v", got)
	}
}
