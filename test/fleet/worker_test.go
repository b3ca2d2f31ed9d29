package fleet

import (
	"errors"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"leasehold/target"
)

// script is a worker of the examples, as a process.
type script struct {
	f     *fleet
	name  string
	cmd   *exec.Cmd
	said  strings.Builder
	ended chan struct{}
	code  int // set when ended is closed
}

// script starts one that works by calling the target.
func (f *fleet) script(name string, n *node, most string) *script {
	f.t.Helper()
	base := strings.TrimSuffix(f.worker(name, n).base, "/api/v1")
	s := &script{f: f, name: name, ended: make(chan struct{})}
	s.cmd = exec.Command("python3", "../../examples/worker.py",
		"--url", base, "--holder", name, "--kind", "", "--max", most, "--interval", "0.3", "--work-url", strings.TrimSuffix(f.served.URL("x"), "x"))
	s.cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
	s.cmd.Stderr = &s.said
	if err := s.cmd.Start(); err != nil {
		f.t.Fatal(err)
	}
	go func() {
		var exit *exec.ExitError
		if err := s.cmd.Wait(); errors.As(err, &exit) {
			s.code = exit.ExitCode() // -1: by a signal
		}
		close(s.ended)
	}()
	f.t.Cleanup(func() {
		s.end(syscall.SIGKILL)
		if f.t.Failed() {
			f.t.Logf("%s said:\n%s", name, s.said.String())
		}
	})
	return s
}

// end sends a signal and waits for the end of the process.
func (s *script) end(signal syscall.Signal) {
	s.f.t.Helper()
	select {
	case <-s.ended:
		return
	default:
		_ = s.cmd.Process.Signal(signal)
	}
	select {
	case <-s.ended:
	case <-time.After(exitLimit):
		s.f.t.Fatalf("%s has not ended after %s", s.name, exitLimit)
	}
}

// holds waits until it holds all of them, and works on them.
func (s *script) holds(limit time.Duration, ids ...string) {
	s.f.t.Helper()
	until(s.f.t, limit, s.name+" holds and works on "+strings.Join(ids, ", "), func() bool {
		held, last := s.f.holders(), map[string]string{}
		for _, r := range s.f.target.Records() {
			last[r.Session] = r.Instance
		}
		for _, id := range ids {
			if held[id] != s.name || last[id] != s.name {
				return false
			}
		}
		return true
	})
}

// workedSince reports whether a session was polled by somebody since then.
func workedSince(records []target.Record, session, holder string, since time.Duration) bool {
	for _, r := range records {
		if r.Session == session && r.Instance == holder && r.From >= since {
			return true
		}
	}
	return false
}

// Workers that know the API alone crash, stop and take over, beside a node. No two are
// at work on one session.
func TestAWorkerInPythonCrashesAndStopsLikeANode(t *testing.T) {
	t.Parallel()
	f := newFleet(t, plan{})
	a := f.start("a")[0]
	hand := f.worker("hand", a)

	// The node takes over what it may poll when the worker's lease has run out.
	f.put("m", untouched)
	w1 := f.script("w1", a, "1")
	w1.holds(readyLimit, "m")
	f.put("m", f.document("m", ""))
	wait(time.Second)
	killed := f.target.Now()
	w1.end(syscall.SIGKILL)
	until(t, f.plan.ttl+2*time.Second, "the node takes over", func() bool {
		return workedSince(f.target.Records(), "m", a.id, killed)
	})
	wait(2 * f.plan.interval)
	f.del(f.keys.Session("m"))

	// Another worker takes over what no node may poll.
	ids := []string{"x1", "a/b", "..", "ü %"}
	for _, id := range ids {
		f.put(id, untouched)
	}
	w2 := f.script("w2", a, "4")
	w2.holds(readyLimit, ids...)
	w3 := f.script("w3", a, "5")
	wait(2 * time.Second)
	w2.end(syscall.SIGKILL)
	w3.holds(f.plan.ttl+2*time.Second, ids...)

	// What is given back is taken at once, by a worker that waits for it.
	f.put("late", untouched)
	w3.holds(2*time.Second, "late")
	version := hand.must(http.StatusOK, "GET", leasePath("late"), "").Version

	wait(time.Second)
	stopped := time.Now()
	w3.end(syscall.SIGTERM)
	if took := time.Since(stopped); w3.code != 0 || took > 2*time.Second {
		t.Errorf("w3 ended with status %d after %s", w3.code, took)
	}
	at := f.target.Now()
	for _, id := range append(ids, "late") {
		hand.must(http.StatusNotFound, "GET", leasePath(id), "")
	}
	if took := hand.take("late"); took.Version != version+1 {
		t.Errorf("version %d follows %d", took.Version, version)
	}
	for _, r := range f.target.Records() {
		if r.Instance == "w3" && r.From > at {
			t.Errorf("w3 works on %s after its end", r.Session)
		}
	}
	f.safe(20)
}

// A request that waits for something free is woken by what happens on another node,
// and keeps no node from stopping.
func TestALongPollIsWokenAndDelaysNoDrain(t *testing.T) {
	t.Parallel()
	f := newFleet(t, plan{})
	f.put("x", untouched)
	nodes := f.start("a", "b")
	w1, w2 := f.worker("w1", nodes[0]), f.worker("w2", nodes[1])
	took := w1.take("x")
	type outcome struct {
		answer
		err   error
		after time.Duration
	}
	poll := func() chan outcome {
		done := make(chan outcome, 1)
		go func() {
			at := time.Now()
			a, err := w2.ask("GET", "/sessions?leased=false&wait=4s", "")
			done <- outcome{a, err, time.Since(at)}
		}()
		wait(500 * time.Millisecond)
		return done
	}
	waiting := poll()
	released := time.Now()
	w1.must(http.StatusNoContent, "DELETE", leasePath("x"), w1.me())
	got := <-waiting
	if delay := time.Since(released); got.err != nil || got.code != http.StatusOK || !strings.Contains(got.text, `"x"`) || delay > time.Second {
		t.Errorf("answered %d %s %v, %s after the release", got.code, got.text, got.err, delay)
	}
	if again := w2.take("x"); again.Version != took.Version+1 {
		t.Errorf("version %d follows %d", again.Version, took.Version)
	}
	waiting = poll()
	at := time.Now()
	if code := nodes[1].term(); code != 0 {
		t.Errorf("exit %d", code)
	}
	if drained := time.Since(at); drained > 2*time.Second {
		t.Errorf("drained in %s", drained)
	}
	if got := <-waiting; got.err != nil || got.code != http.StatusOK || got.text != "[]" || got.after > 3*time.Second {
		t.Errorf("answered %d %s %v after %s", got.code, got.text, got.err, got.after)
	}
}
