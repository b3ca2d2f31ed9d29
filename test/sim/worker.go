package sim

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"time"
)

// workerEnv tells the test binary to be a worker.
const workerEnv = "SIM_WORKER"

// maxRuns is how many runs a worker does before it is replaced. One alone: libraries
// keep things of one bubble in variables of their packages, and the next bubble
// stumbles over them.
const maxRuns = 1

// worker is a process that runs scenarios one after the other on one P. What
// brings it down is a violation of the scenario, and of no other.
type worker struct {
	cmd    *exec.Cmd
	jobs   *os.File
	output *tail
	answer chan Verdict // closed when the process has gone
	runs   int
}

// startWorker starts this binary once more.
func startWorker() (*worker, error) {
	jobsIn, jobs, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	answers, answersOut, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	w := &worker{jobs: jobs, output: &tail{}, answer: make(chan Verdict)}
	w.cmd = exec.Command(os.Args[0], "-test.run=^TestWorker$", "-test.timeout=0")
	w.cmd.Env = append(os.Environ(), workerEnv+"=1", "GOMAXPROCS=1", "GODEBUG=asyncpreemptoff=1", "GOGC=400")
	w.cmd.ExtraFiles = []*os.File{jobsIn, answersOut}
	w.cmd.Stdout, w.cmd.Stderr = w.output, w.output
	w.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	err = w.cmd.Start()
	_ = jobsIn.Close()
	_ = answersOut.Close()
	if err != nil {
		return nil, err
	}
	go func() {
		defer close(w.answer)
		d := json.NewDecoder(answers)
		for {
			var v Verdict
			if d.Decode(&v) != nil {
				break
			}
			w.answer <- v
		}
		_ = answers.Close()
		_ = w.cmd.Wait()
	}()
	return w, nil
}

// job is what a worker is asked to do.
type job struct {
	Scenario Scenario
	Loud     bool // the nodes log all they can
}

// run has the worker run a scenario. ok is false when the worker is used up.
func (w *worker) run(do job, limit time.Duration) (v Verdict, ok bool) {
	s := do.Scenario
	w.runs++
	failed := func(format string, args ...any) (Verdict, bool) {
		return Verdict{
			Seed: s.Seed, Profile: s.Timings.Profile, At: s.Length,
			Violation: fmt.Sprintf(format, args...), Log: w.output.lines(),
		}, false
	}
	if err := json.NewEncoder(w.jobs).Encode(do); err != nil && !errors.Is(err, syscall.EPIPE) {
		return failed("the worker takes no job: %s", err)
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case v, ok = <-w.answer:
		if !ok {
			return failed("the process ended: %s", w.output.reason())
		}
		return v, w.runs < maxRuns
	case <-timer.C:
		_ = w.cmd.Process.Signal(syscall.SIGQUIT) // shows where it hangs
		select {
		case <-w.answer:
		case <-time.After(10 * time.Second):
		}
		w.stop()
		return failed("no end: after %s of real time", limit)
	}
}

// stop ends the worker.
func (w *worker) stop() {
	_ = w.jobs.Close()
	select {
	case <-w.answer:
	case <-time.After(2 * time.Second):
		_ = w.cmd.Process.Kill()
		for range w.answer { // until it has gone
			continue
		}
	}
}

// work is a worker's life: jobs come on one descriptor, answers go to another.
func work(run func(job) Verdict) error {
	jobs, answers := json.NewDecoder(os.NewFile(3, "jobs")), json.NewEncoder(os.NewFile(4, "answers"))
	for {
		var do job
		if err := jobs.Decode(&do); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if err := answers.Encode(run(do)); err != nil {
			return err
		}
	}
}

// tailSize is how much output of a worker is kept.
const tailSize = 256 << 10

// crashes begin what a Go process says when it ends by itself.
var crashes = regexp.MustCompile(`(?m)^(panic: |fatal error: )`)

// tail keeps the end of what is written to it; after a crash, all from there on.
type tail struct {
	mu      sync.Mutex
	buf     []byte
	crashed bool
}

// Write implements io.Writer.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p...)
	if t.crashed {
		return len(p), nil
	}
	if at := crashes.FindIndex(t.buf); at != nil {
		t.crashed = true
		t.buf = t.buf[at[0]:]
	} else if over := len(t.buf) - tailSize; over > 0 {
		t.buf = t.buf[over:]
	}
	return len(p), nil
}

// reason is how the process explained its end.
func (t *tail) reason() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.crashed {
		return "without a word"
	}
	line, _, _ := strings.Cut(string(t.buf), "\n")
	return line
}

func (t *tail) lines() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := strings.Split(string(t.buf), "\n")
	return lines[:min(len(lines), mostLines)]
}
