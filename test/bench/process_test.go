package bench

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

const (
	readyLimit = 15 * time.Second
	exitLimit  = 40 * time.Second
	lastLines  = 5
)

// process is a node, or a peer, that runs until the test ends.
type process struct {
	cmd            *exec.Cmd
	started, ended time.Time // ended is set when done is closed
	done           chan struct{}
	ready          chan struct{}
	// id and addr are the instance ID and the address of its HTTP server, once ready.
	id, addr string

	mu   sync.Mutex
	last []string
}

// launch starts a process that says on stderr, in a line of JSON, when it is ready.
func launch(t *testing.T, path string, environ []string, args ...string) *process {
	t.Helper()
	p := &process{cmd: exec.Command(path, args...), done: make(chan struct{}), ready: make(chan struct{})}
	p.cmd.Env = environ
	stderr, err := p.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.started = time.Now()
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.signal(syscall.SIGKILL)
		<-p.done
		if t.Failed() {
			t.Logf("last lines of %s:\n%s", p.id, strings.Join(p.last, "\n"))
		}
	})
	go p.attend(stderr)
	return p
}

func (p *process) attend(stderr io.Reader) {
	in := bufio.NewScanner(stderr)
	for in.Scan() {
		p.take(in.Text())
	}
	_ = p.cmd.Wait()
	p.ended = time.Now()
	close(p.done)
}

func (p *process) take(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.last = append(p.last, fmt.Sprintf("%.300s", text)); len(p.last) > lastLines {
		p.last = p.last[1:]
	}
	if p.addr != "" || !strings.Contains(text, `"node.ready"`) {
		return
	}
	var l struct {
		Instance string `json:"instance_id"`
		Addr     string `json:"http_addr"`
	}
	if json.Unmarshal([]byte(text), &l) == nil {
		p.id, p.addr = l.Instance, l.Addr
		close(p.ready)
	}
}

// await waits until the process has said that it is ready.
func (p *process) await(t *testing.T) {
	t.Helper()
	select {
	case <-p.ready:
	case <-p.done:
		t.Fatal("the process has ended before it was ready")
	case <-time.After(readyLimit):
		t.Fatalf("the process is not ready after %s", readyLimit)
	}
}

func (p *process) signal(s syscall.Signal) {
	select {
	case <-p.done: // its process ID may be another's by now
	default:
		_ = p.cmd.Process.Signal(s)
	}
}

// exit waits for the end of a process that was told to end.
func (p *process) exit(t *testing.T) {
	t.Helper()
	select {
	case <-p.done:
	case <-time.After(exitLimit):
		t.Fatalf("the process has not ended after %s", exitLimit)
	}
}

// metric is the sum of a metric's values over the labels that contain the text.
func (p *process) metric(t *testing.T, name, labels string) float64 {
	t.Helper()
	sum := 0.0
	for _, line := range p.metrics(t) {
		key, value, _ := strings.Cut(line, "} ")
		if !strings.Contains(line, "} ") {
			key, value, _ = strings.Cut(line, " ")
		}
		key, has, _ := strings.Cut(key, "{")
		if key != "leasehold_"+name || !strings.Contains(has, labels) {
			continue
		}
		v, err := strconv.ParseFloat(value, 64)
		if err != nil {
			t.Fatalf("metric %q: %v", line, err)
		}
		sum += v
	}
	return sum
}

func (p *process) metrics(t *testing.T) []string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+p.addr+"/metrics", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(string(text), "\n")
}

// ticks is the resolution of the CPU times of /proc.
const ticks = 100

// cpu is the processor time that a process has taken.
func cpu(t *testing.T, pid int) time.Duration {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Skipf("this line needs the /proc of Linux: %v", err)
	}
	// The name may have spaces; what follows it are numbers.
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * time.Second / ticks
}

// rss is the memory of a process in bytes.
func rss(t *testing.T, pid int) float64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Skipf("this line needs the /proc of Linux: %v", err)
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kib, _ := strconv.ParseFloat(strings.Fields(rest)[0], 64)
			return kib * 1024
		}
	}
	t.Fatalf("process %d has no VmRSS", pid)
	return 0
}
