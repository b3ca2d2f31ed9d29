package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"leasehold/internal/redistest"
	"leasehold/lease"
	"leasehold/results"
)

// result is a result of the session "s" as a sink writes it.
func result(token, sequence int64) string {
	m := results.Encode(lease.Grant{Session: "s", Holder: "n", Token: lease.Token(token)}, lease.Result{
		Started: time.Now(), Sequence: sequence, OK: true, Class: "success", Body: []byte("nul\x00"),
	})
	return string(m.JSON) + "\n"
}

// feed runs the program over the results and returns what it says of each.
func feed(t *testing.T, c cluster, lines ...string) []string {
	t.Helper()
	var out bytes.Buffer
	if err := run(t.Context(), c.url, strings.NewReader(strings.Join(lines, "")), &out); err != nil {
		t.Error(err)
	}
	var verdicts []string
	for l := range strings.Lines(out.String()) {
		verdicts = append(verdicts, strings.Fields(l)[0])
	}
	return verdicts
}

func TestOnlyWhatIsNewerIsAccepted(t *testing.T) {
	c := startCluster(t)
	got := feed(t, c,
		result(7, 41), result(7, 42),
		result(7, 42),                // once more
		result(7, 41),                // late
		result(8, 43),                // another owner
		result(7, 44),                // late, from the owner before
		result(8, 43), result(8, 45), // once more; the next
	)
	want := "accepted accepted refused refused accepted refused refused accepted"
	if strings.Join(got, " ") != want {
		t.Errorf("got %v, want %s", got, want)
	}
	if token, sequence := c.row(t); token != 8 || sequence != 45 {
		t.Errorf("the table has %d, %d", token, sequence)
	}

	// Writers at once, in any order: the highest stays.
	var writers sync.WaitGroup
	for range 4 {
		writers.Go(func() {
			var lines []string
			for _, i := range rand.Perm(100) {
				lines = append(lines, result(9+int64(i)/10, 100+int64(i)))
			}
			feed(t, c, lines...)
		})
	}
	writers.Wait()
	if token, sequence := c.row(t); token != 18 || sequence != 199 {
		t.Errorf("the table has %d, %d, want 18, 199", token, sequence)
	}
}

// A node and its writer freeze with results on their way, another node takes over, and
// they wake up: what the first writer still has is refused.
func TestTheLateWritesOfAFrozenWriterAreRefused(t *testing.T) {
	c, redis := startCluster(t), redistest.StartServer(t)
	client := redis.Client()
	defer func() { _ = client.Close() }()
	if err := client.Set(t.Context(), "session:s", `{"kind":"log","interval":"100ms"}`, 0).Err(); err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	for name, pkg := range map[string]string{"leasehold": "leasehold/cmd/node", "writer": "leasehold/examples/postgres"} {
		if out, err := exec.Command("go", "build", "-buildvcs=false", "-o", filepath.Join(bin, name), pkg).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	start := func(name string) *pair { return startPair(t, bin, name, redis.URL(), c.url) }

	a := start("a")
	until(t, "the first writer has written", func() bool { return a.count("accepted") > 3 })
	old, _ := c.row(t)
	a.writer.signal(t, syscall.SIGSTOP)
	length := func() int64 { return client.XLen(t.Context(), "poll:results").Val() }
	from := length()
	until(t, "results have piled up", func() bool { return length() > from+5 })
	_, written := c.row(t) // of the last write it may not have told any more
	a.node.signal(t, syscall.SIGSTOP)

	b := start("b")
	until(t, "the second writer has written", func() bool { return b.count("accepted") > 0 })
	token, _ := c.row(t)
	if token <= old {
		t.Fatalf("the second owner has token %d, the first had %d", token, old)
	}

	a.writer.signal(t, syscall.SIGCONT)
	a.node.signal(t, syscall.SIGCONT)
	until(t, "the first writer has gone on", func() bool { return a.count("refused") > 3 })
	until(t, "the second goes on writing", func() bool { return b.count("accepted") > 5 })
	if last := a.lastAccepted(t); last == 0 || last > written {
		t.Errorf("a late write was accepted: %d, after %d", last, written)
	}
	if now, _ := c.row(t); now < token {
		t.Errorf("the table fell back from token %d to %d", token, now)
	}
}

// pair is a node whose results go to a writer.
type pair struct{ node, writer *process }

type process struct {
	cmd *exec.Cmd
	out output
}

// output is what a process says.
type output struct {
	mu   sync.Mutex
	text strings.Builder
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

func startPair(t *testing.T, bin, name, redisURL, databaseURL string) *pair {
	t.Helper()
	source, sink, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p := &pair{
		node:   &process{cmd: exec.Command(filepath.Join(bin, "leasehold"), "run")},
		writer: &process{cmd: exec.Command(filepath.Join(bin, "writer"))},
	}
	p.node.cmd.Env = []string{
		"LEASEHOLD_REDIS_URL=" + redisURL, "LEASEHOLD_INSTANCE_NAME=" + name, "LEASEHOLD_HTTP_ADDR=127.0.0.1:0",
		"LEASEHOLD_LEASE_TTL=2s", "LEASEHOLD_LEASE_RENEW_INTERVAL=600ms",
		"LEASEHOLD_HEARTBEAT_TTL=2s", "LEASEHOLD_HEARTBEAT_INTERVAL=600ms",
		"LEASEHOLD_RESULT_SINKS=stdout",
	}
	p.node.cmd.Stdout, p.node.cmd.Stderr = sink, &p.node.out
	p.writer.cmd.Env = []string{"DATABASE_URL=" + databaseURL}
	p.writer.cmd.Stdin, p.writer.cmd.Stdout, p.writer.cmd.Stderr = source, &p.writer.out, &p.writer.out
	for _, one := range []*process{p.writer, p.node} {
		if err := one.cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = one.cmd.Process.Kill()
			_ = one.cmd.Wait()
			if t.Failed() {
				t.Logf("%s %s says:\n%.4000s", filepath.Base(one.cmd.Path), name, one.out.String())
			}
		})
	}
	_, _ = source.Close(), sink.Close() // the processes have their own
	return p
}

func (p *process) signal(t *testing.T, s syscall.Signal) {
	t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}

// lastAccepted is the highest sequence that the writer tells was accepted.
func (p *pair) lastAccepted(t *testing.T) (highest int64) {
	t.Helper()
	for line := range strings.Lines(p.writer.out.String()) {
		var token, sequence int64
		if _, err := fmt.Sscanf(line, "accepted s/%d/%d\n", &token, &sequence); err == nil {
			highest = max(highest, sequence)
		}
	}
	return highest
}

func (p *pair) count(verdict string) int {
	return strings.Count("\n"+p.writer.out.String(), fmt.Sprintf("\n%s s/", verdict))
}

func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not after 30 s: %s", what)
		}
	}
}
