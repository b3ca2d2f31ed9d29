//go:build unix

package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"leasehold/internal/redistest"
)

func TestADemoThatCanNotBeIsRefused(t *testing.T) {
	for args, want := range map[string]string{
		"demo --nodes 0 --sessions 10001":  "leasehold: --nodes=0: must be from 1 to 50\nleasehold: --sessions=10001: must be from 1 to 10000\n",
		"demo --sessions 2001":             "name a real one with --redis",
		"demo --nodes many":                "invalid argument",
		"demo --duration -1s":              "must not be negative",
		"demo --redis http://u:hunter2@h/": "must start with redis://",
		"demo extra":                       `takes no arguments, and got "extra"`,
	} {
		got := execute(nil, strings.Fields(args)...)
		if got.code != exitUsage || got.stdout != "" || !strings.Contains(got.stderr, want) || strings.Contains(got.stderr, "hunter2") {
			t.Errorf("%s: %+v, want %q", args, got, want)
		}
	}
}

func TestADemoOnNoRedisSaysSo(t *testing.T) {
	url := "redis://u:hunter2@127.0.0.1:" + strconv.Itoa(redistest.FreePort(t)) + "/0"
	got := execute(nil, "demo", "--redis", url)
	if got.code != exitFailure || got.stdout != "" || strings.Contains(got.stderr, "hunter2") ||
		!strings.Contains(got.stderr, "Without --redis the demo brings its own.") {
		t.Errorf("%+v", got)
	}
}

// program builds leasehold.
func program(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "leasehold")
	if out, err := exec.Command("go", "build", "-o", path, ".").CombinedOutput(); err != nil {
		t.Fatalf("build: %v: %s", err, out)
	}
	return path
}

// Demos as processes of their own, all at the same time.
func TestDemo(t *testing.T) {
	path := program(t)
	for name, test := range map[string]func(*testing.T, string){
		"survives a kill":                     testDemoSurvivesAKill,
		"leaves the user's Redis as it was":   testDemoLeavesTheUsersRedisAsItWas,
		"ends with its last node":             testDemoEndsWithItsLastNode,
		"is outlived by no node":              testNoNodeOutlivesAKilledDemo,
		"is ended at once by a second signal": testTheSecondSignalEndsADemoAtOnce,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, path)
		})
	}
}

// demonstration is a demo that runs as a process of its own.
type demonstration struct {
	t      *testing.T
	cmd    *exec.Cmd
	stderr bytes.Buffer
	ended  chan struct{}
	temp   string

	mu   sync.Mutex
	text string
}

func startDemo(t *testing.T, path string, args ...string) *demonstration {
	t.Helper()
	d := &demonstration{t: t, temp: t.TempDir(), ended: make(chan struct{})}
	d.cmd = exec.Command(path, append([]string{"demo"}, args...)...)
	// What would break a node, did it reach it.
	d.cmd.Env = append(os.Environ(), "TMPDIR="+d.temp, "LEASEHOLD_LEASE_TTL=wrong", "LEASEHOLD_LOG_FORMAT=console", "REDIS_URL=wrong")
	d.cmd.Stderr = &d.stderr
	out, err := d.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go d.read(out)
	t.Cleanup(func() {
		_ = d.cmd.Process.Kill()
		<-d.ended
	})
	return d
}

func (d *demonstration) read(out io.Reader) {
	defer close(d.ended)
	lines := bufio.NewReader(out)
	for {
		text, err := lines.ReadString('\n')
		d.mu.Lock()
		d.text += text
		d.mu.Unlock()
		if err != nil {
			_ = d.cmd.Wait() // ProcessState has it
			return
		}
	}
}

func (d *demonstration) output() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.text
}

// until waits for output that matches and returns the match.
func (d *demonstration) until(pattern string) []string {
	d.t.Helper()
	form := regexp.MustCompile(pattern)
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if m := form.FindStringSubmatch(d.output()); m != nil {
			return m
		}
	}
	d.t.Fatalf("nothing like %s in\n%s%s", pattern, d.output(), &d.stderr)
	return nil
}

// end waits for the end and returns the exit code.
func (d *demonstration) end() int {
	d.t.Helper()
	select {
	case <-d.ended:
		return d.cmd.ProcessState.ExitCode()
	case <-time.After(30 * time.Second):
		d.t.Fatalf("the demo does not end:\n%s", d.output())
		return -1
	}
}

// pids of the nodes, once they are known.
func (d *demonstration) pids() []int {
	d.t.Helper()
	d.until("Ctrl-C")
	var pids []int
	for _, m := range regexp.MustCompile(`(?m)^ {2}node-\d+ .* pid (\d+)$`).FindAllStringSubmatch(d.output(), -1) {
		pid, err := strconv.Atoi(m[1])
		if err != nil {
			d.t.Fatal(err)
		}
		pids = append(pids, pid)
	}
	return pids
}

// gone waits a little until none of the processes runs any more.
func gone(t *testing.T, pids []int) {
	t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for _, pid := range pids {
		for running(pid) {
			if time.Now().After(deadline) {
				t.Fatalf("process %d is still there", pid)
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
}

// running reports whether there is such a process, other than a dead one whom nobody
// has buried.
func running(pid int) bool {
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return false
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return !errors.Is(err, os.ErrNotExist) || !isLinux()
	}
	return !strings.Contains(string(stat), ") Z ")
}

func isLinux() bool {
	_, err := os.Stat("/proc/self/stat")
	return err == nil
}

// A node is killed in the middle of a demo that ends by itself.
func testDemoSurvivesAKill(t *testing.T, path string) {
	t.Helper()
	d := startDemo(t, path, "--sessions", "12", "--duration", "17s")
	pids := d.pids()
	if len(pids) != 3 {
		t.Fatalf("%d nodes, want 3:\n%s", len(pids), d.output())
	}
	owned := d.until(`12/12 sessions leased · node-1 \d+, node-2 ([1-9]\d*), node-3 \d+ · duplicate polls: 0`)[1]
	if owned != "4" { // a slow start: they are balanced by the next time
		owned = d.until(`12/12 sessions leased · node-1 4, node-2 (4), node-3 4 · duplicate polls: 0`)[1]
	}
	victim := d.until(`kill -9 (\d+)`)[1]
	pid, _ := strconv.Atoi(victim)
	if pid != pids[1] {
		t.Fatalf("the demo advises to kill %s of %v", victim, pids)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	d.until(`node-2 \(pid ` + victim + `\) ended: signal: killed; its ` + owned + ` leases`)
	took := d.until(`all ` + owned + ` sessions of node-2 are polled again, ([\d.]+) s after its end`)[1]
	// The contract's bound: TTL + 0.2 s + the session's own due time; here, an interval.
	if s, err := strconv.ParseFloat(took, 64); err != nil || s > 8.2 {
		t.Errorf("polled again after %s s, want at most 8.2", took)
	}
	d.until(`node-[13] took over \d sessions? of node-2, [\d.]+ ms after the deadline at the median`)
	if code := d.end(); code != 0 || d.stderr.String() != "" {
		t.Errorf("exit %d, stderr %s", code, &d.stderr)
	}
	d.until(`\nSummary\n  \d+ polls of 12 sessions in [12]\d\.\d s; duplicate polls: 0\n`)
	gone(t, pids)
	if left, err := os.ReadDir(d.temp); err != nil || len(left) > 0 {
		t.Errorf("left in the temporary directory: %v %v", left, err)
	}
}

// One Ctrl-C ends the demo in order, and the user's Redis is as before.
func testDemoLeavesTheUsersRedisAsItWas(t *testing.T, path string) {
	t.Helper()
	server := redistest.StartServer(t)
	client := server.Client()
	defer func() { _ = client.Close() }()
	ctx := context.Background()
	const mine = `{"url":"http://127.0.0.1:1/"}`
	if err := client.Set(ctx, "session:mine", mine, 0).Err(); err != nil {
		t.Fatal(err)
	}
	if err := client.ConfigSet(ctx, "notify-keyspace-events", "Kl").Err(); err != nil {
		t.Fatal(err)
	}
	d := startDemo(t, path, "--nodes", "2", "--sessions", "6", "--redis", server.URL())
	pids := d.pids()
	prefix := d.until(`keys begin with (leasehold-demo:[0-9a-f]{8}:) and are removed`)[1]
	d.until(`6/6 sessions leased · node-1 3, node-2 3 · duplicate polls: 0`)
	if ttl := client.PTTL(ctx, prefix+"session:s-01").Val(); ttl <= 0 {
		t.Errorf("a document of the demo has no TTL (%s): it would stay if the demo were killed", ttl)
	}
	if err := d.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if code := d.end(); code != 0 || d.stderr.String() != "" {
		t.Errorf("exit %d, stderr %s", code, &d.stderr)
	}
	gone(t, pids)
	if keys := client.Keys(ctx, "*").Val(); len(keys) != 1 || client.Get(ctx, "session:mine").Val() != mine {
		t.Errorf("keys afterwards: %q", keys)
	}
	if flags := client.ConfigGet(ctx, "notify-keyspace-events").Val()["notify-keyspace-events"]; flags != "Kl" && flags != "lK" {
		t.Errorf("flags afterwards: %q", flags)
	}
}

func testDemoEndsWithItsLastNode(t *testing.T, path string) {
	t.Helper()
	d := startDemo(t, path, "--nodes", "1", "--sessions", "3")
	pids := d.pids()
	d.until(`node-1 took 3 sessions`)
	if err := syscall.Kill(pids[0], syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := d.end(); code != 0 {
		t.Errorf("exit %d: %s", code, &d.stderr)
	}
	d.until(`node-1 \(pid \d+\) ended: exit status 0\n.*no node is left\n`)
}

// Even where the demo can do nothing about it, no node is left behind.
func testNoNodeOutlivesAKilledDemo(t *testing.T, path string) {
	t.Helper()
	d := startDemo(t, path, "--nodes", "2", "--sessions", "4")
	pids := d.pids()
	if err := d.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	d.end()
	gone(t, pids)
}

// The second signal waits for nothing.
func testTheSecondSignalEndsADemoAtOnce(t *testing.T, path string) {
	t.Helper()
	d := startDemo(t, path, "--nodes", "2", "--sessions", "4")
	pids := d.pids()
	// Two different ones, since two equal ones may arrive as one.
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		if err := d.cmd.Process.Signal(s); err != nil {
			t.Fatal(err)
		}
	}
	if code := d.end(); code != int(exitForced) {
		t.Errorf("exit %d, want 130", code)
	}
	gone(t, pids)
}
