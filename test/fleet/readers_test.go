package fleet

import (
	"bufio"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"leasehold/demo"
)

// goesOn fails the test unless the session is polled a few times more, and the node then
// drains as if nothing had been.
func (f *fleet) goesOn(n *node, session string) {
	f.t.Helper()
	polls := func() (count int) {
		for _, p := range f.target.Records() {
			if p.Session == session {
				count++
			}
		}
		return count
	}
	had := polls()
	until(f.t, readyLimit, "it polls without a reader", func() bool {
		select {
		case <-n.ended:
			f.t.Fatalf("the node ended with its reader: %s", n.cmd.ProcessState)
		default:
		}
		return polls() >= had+5
	})
	if code := n.term(); code != 0 {
		f.t.Errorf("exit code %d (%s)", code, n.cmd.ProcessState)
	}
	if left := f.holders(); len(left) != 0 {
		f.t.Errorf("leases are left: %v", left)
	}
	f.safe(5)
}

// ofReader starts a node with one session, whose output goes to a pipe.
func ofReader(t *testing.T, connect func(c *exec.Cmd, w *os.File), env ...string) (*fleet, *node, *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	f := newFleet(t, plan{interval: 200 * time.Millisecond})
	f.putMany(1)
	n := launch(t, "a", f.environ("a", env...), func(c *exec.Cmd) { connect(c, w) })
	_ = w.Close() // the node has its own
	f.nodes = append(f.nodes, n)
	return f, n, r
}

// leave reads lines up to one with the text, and closes the pipe.
func leave(t *testing.T, r *os.File, text string) {
	t.Helper()
	_ = r.SetReadDeadline(time.Now().Add(readyLimit)) // where it is refused, the test waits longer
	for lines := bufio.NewScanner(r); ; {
		if !lines.Scan() {
			t.Fatalf("no %s is read: %v", text, lines.Err())
		}
		if strings.Contains(lines.Text(), text) {
			break
		}
	}
	_ = r.Close()
}

// As in: leasehold run | head -1. What the sink loses is told, and is all that is lost.
func TestANodeOutlivesTheReaderOfItsResults(t *testing.T) {
	t.Parallel()
	f, n, r := ofReader(t, func(c *exec.Cmd, w *os.File) { c.Stdout = w }, "LEASEHOLD_RESULT_SINKS=stdout")
	n.ready()
	leave(t, r, "leasehold.poll.result")
	n.await(readyLimit, event("result.dropped"), func(l line) bool { return strings.Contains(l.text, syscall.EPIPE.Error()) })
	f.goesOn(n, "s0")
}

// As in: leasehold run 2>&1 >/dev/null | head -2.
func TestANodeOutlivesTheReaderOfItsLog(t *testing.T) {
	t.Parallel()
	f, n, r := ofReader(t, func(c *exec.Cmd, w *os.File) { c.Stderr = w }, "LEASEHOLD_LOG_LEVEL=debug")
	leave(t, r, "poll.succeeded")
	f.goesOn(n, "s0")
}

// A node of a demo is told to: the demo may have been killed.
func TestANodeThatShallEndsWithTheReaderOfItsLog(t *testing.T) {
	t.Parallel()
	_, n, r := ofReader(t, func(c *exec.Cmd, w *os.File) {
		c.Stderr = w
		c.Args = append(c.Args, "--"+demo.EndUnread)
	}, "LEASEHOLD_LOG_LEVEL=debug")
	n.ending.Store(true)
	leave(t, r, "poll.succeeded")
	n.exit(readyLimit)
}
