package fleet

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

const (
	readyLimit = 10 * time.Second
	exitLimit  = 40 * time.Second
	tick       = 5 * time.Millisecond
	tailLines  = 25

	sigterm = syscall.SIGTERM
	sigint  = syscall.SIGINT
)

// node is one process of a fleet.
type node struct {
	journal

	t    *testing.T
	name string
	// id is the instance ID, known once the node is ready.
	id  string
	cmd *exec.Cmd

	ending atomic.Bool // an exit is wanted
	ended  chan struct{}
	code   int // set when ended is closed
}

// launch starts a process whose lines are kept. Its output is expected to be empty,
// unless a change takes it.
func launch(t *testing.T, name string, environ []string, change ...func(*exec.Cmd)) *node {
	t.Helper()
	n := &node{t: t, name: name, cmd: exec.Command(binary, "run"), ended: make(chan struct{})}
	n.cmd.Env, n.cmd.SysProcAttr = environ, ownProcess()
	stderr, err := n.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range change {
		f(n.cmd)
	}
	stdout := io.NopCloser(strings.NewReader(""))
	if n.cmd.Stdout == nil {
		if stdout, err = n.cmd.StdoutPipe(); err != nil {
			t.Fatal(err)
		}
	}
	if err := n.cmd.Start(); err != nil {
		t.Fatalf("start %s: %v", name, err)
	}
	t.Cleanup(n.cleanup)
	go n.attend(stderr, stdout)
	return n
}

// attend reads all that the process says and waits for its end.
func (n *node) attend(stderr, stdout io.Reader) {
	var readers sync.WaitGroup
	readers.Go(func() { n.read(stderr) })
	readers.Go(func() {
		if said, _ := io.ReadAll(stdout); len(said) > 0 {
			n.complain("logs go to stderr, but stdout has " + string(said))
		}
	})
	readers.Wait()
	var exit *exec.ExitError
	if err := n.cmd.Wait(); errors.As(err, &exit) {
		n.code = exit.ExitCode() // -1: by a signal
	}
	if !n.ending.Load() {
		n.complain("has exited by itself")
	}
	close(n.ended)
}

func (n *node) complain(what string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.faults = append(n.faults, what)
}

// cleanup ends the process and reports what was wrong with its lines.
func (n *node) cleanup() {
	n.ending.Store(true)
	n.signal(syscall.SIGKILL)
	<-n.ended
	for _, fault := range n.faults {
		n.t.Errorf("%s: %s", n.name, fault)
	}
	if n.t.Failed() {
		n.t.Logf("last lines of %s (%s):\n%s", n.name, n.id, n.tail(tailLines))
	}
}

func (n *node) signal(s syscall.Signal) {
	select {
	case <-n.ended: // its process ID may be another's by now
	default:
		_ = n.cmd.Process.Signal(s)
	}
}

// ready waits for the node to have joined the fleet.
func (n *node) ready() {
	n.t.Helper()
	n.id = n.await(readyLimit, event("node.ready")).Instance
}

// site is where the node serves HTTP.
func (n *node) site() string {
	n.t.Helper()
	var ready struct {
		Addr string `json:"http_addr"`
	}
	if err := json.Unmarshal([]byte(n.await(readyLimit, event("node.ready")).text), &ready); err != nil || ready.Addr == "" {
		n.t.Fatalf("%s does not say where it listens: %v", n.name, err)
	}
	return "http://" + ready.Addr
}

// await waits for a line for which the conditions hold.
func (n *node) await(limit time.Duration, conditions ...func(line) bool) line {
	n.t.Helper()
	var found []line
	until(n.t, limit, n.name+" logs what is waited for", func() bool {
		found = n.all(conditions...)
		return len(found) > 0
	})
	return found[0]
}

// kill ends the process as a crash would and waits for its end.
func (n *node) kill() {
	n.ending.Store(true)
	n.signal(syscall.SIGKILL)
	<-n.ended
}

// term asks the node to drain and returns its exit code.
func (n *node) term() int {
	n.t.Helper()
	n.ending.Store(true)
	n.signal(syscall.SIGTERM)
	return n.exit(exitLimit)
}

// exit waits for the end of a process that was asked to end.
func (n *node) exit(limit time.Duration) int {
	n.t.Helper()
	select {
	case <-n.ended:
		return n.code
	case <-time.After(limit):
		n.t.Fatalf("%s has not exited after %s", n.name, limit)
		return 0
	}
}

// pause freezes the process, proceed lets it go on.
func (n *node) pause()   { n.signal(syscall.SIGSTOP) }
func (n *node) proceed() { n.signal(syscall.SIGCONT) }

// until waits for a condition.
func until(t *testing.T, limit time.Duration, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(limit); !holds(); time.Sleep(tick) {
		if time.Now().After(deadline) {
			t.Fatalf("not after %s: %s", limit, what)
		}
	}
}
