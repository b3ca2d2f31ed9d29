package demo

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
)

// EndUnread is the flag of the run command that has a node end when nobody reads its log:
// so no node outlives a demo that was killed, where the system does not see to it.
const EndUnread = "end-unread"

const (
	// tailLines is how much of what is no log line is kept of a node.
	tailLines = 12
	longLine  = 64 << 10
)

// process is one node. All fields but the first two belong to the demo's goroutine.
type process struct {
	name    string
	command *exec.Cmd

	pid      int
	instance string // once it is ready
	addr     string
	ready    bool
	ended    bool
	// frozen says that its heartbeat ran out while its process was there.
	frozen bool
	tail   []string
}

// report is what happened to a process.
type report struct {
	of      *process
	started bool
	line    []byte
	// ended says that the process is no more, or never came to be; err is why.
	ended bool
	err   error
}

// newProcess prepares a node, which is killed when ctx ends.
func newProcess(ctx context.Context, program, name string, environ []string) *process {
	command := exec.CommandContext(ctx, program, "run", "--"+EndUnread)
	command.Env = environ
	command.SysProcAttr = attributes()
	return &process{name: name, command: command}
}

// run starts the process and reports until its end.
func (p *process) run(reports chan<- report) {
	// The kernel ends the process when the thread that started it ends: so that
	// thread stays.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	reports <- report{of: p, ended: true, err: p.follow(reports)}
}

// follow returns how the process ended.
func (p *process) follow(reports chan<- report) error {
	stderr, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer func() { _ = stderr.Close() }() // it was only read
	p.command.Stderr = w
	err = p.command.Start()
	_ = w.Close() // the process has its own
	if err != nil {
		return err
	}
	reports <- report{of: p, started: true}
	lines := bufio.NewReaderSize(stderr, longLine)
	for {
		text, err := lines.ReadSlice('\n')
		if text = bytes.TrimSpace(text); len(text) > 0 {
			reports <- report{of: p, line: bytes.Clone(text)}
		}
		// Of a line that is too long the rest comes as one more.
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			break
		}
	}
	_, _ = io.Copy(io.Discard, stderr)
	return p.command.Wait()
}

// said keeps what the process printed besides its log.
func (p *process) said(text []byte) {
	p.tail = append(p.tail, string(text))
	if len(p.tail) > tailLines {
		p.tail = p.tail[1:]
	}
}

// lastWords is what the process printed besides its log, indented.
func (p *process) lastWords() string {
	if len(p.tail) == 0 {
		return ""
	}
	return "\n  " + strings.Join(p.tail, "\n  ")
}

// ending says how the process ended, and whether that was its own failure.
func ending(err error) (how string, failed bool) {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return "exit status 0", false
	case errors.As(err, &exit):
		// A negative code is a signal from outside. Leases that were left to run out
		// (3) and a second signal (130) are what a person may have caused.
		code := exit.ExitCode()
		return exit.String(), code == 1 || code == 2
	default:
		return err.Error(), true
	}
}
