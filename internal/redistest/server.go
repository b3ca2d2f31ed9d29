package redistest

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os/exec"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

const startTimeout = 10 * time.Second

// Server is one real redis-server process.
type Server struct {
	Port int

	dir  string
	args []string
	cmd  *exec.Cmd
	out  *bytes.Buffer
}

// StartServer runs a redis-server on a free loopback port until the test ends.
// Args are appended to its command line: "--appendonly", "yes". With Ginkgo pass
// GinkgoTB().
func StartServer(tb testing.TB, args ...string) *Server {
	tb.Helper()
	s := &Server{Port: FreePort(tb), dir: tb.TempDir(), args: args}
	if err := s.Start(); err != nil {
		tb.Fatalf("%v", err)
	}
	tb.Cleanup(s.Kill)
	return s
}

// FreePort returns a loopback TCP port that was free a moment ago.
func FreePort(tb testing.TB) int {
	tb.Helper()
	var lc net.ListenConfig
	l, err := lc.Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatalf("find a free port: %v", err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().(*net.TCPAddr).Port
}

// Addr is host:port.
func (s *Server) Addr() string { return "127.0.0.1:" + strconv.Itoa(s.Port) }

// URL is the address as LEASEHOLD_REDIS_URL takes it.
func (s *Server) URL() string { return "redis://" + s.Addr() + "/0" }

// Client returns a client for tests. Close it.
func (s *Server) Client(change ...func(*redis.Options)) *redis.Client {
	o := Options(s.Addr())
	for _, f := range change {
		f(o)
	}
	return redis.NewClient(o)
}

// Start runs the process, again after Stop or Kill, and waits until it answers.
func (s *Server) Start() error {
	path, err := exec.LookPath("redis-server")
	if err != nil {
		return fmt.Errorf("these tests need a redis-server (apt-get install redis-server, brew install redis): %w", err)
	}
	args := append([]string{
		"--port", strconv.Itoa(s.Port), "--bind", "127.0.0.1", "--dir", s.dir,
		"--save", "", "--enable-debug-command", "local", "--daemonize", "no",
	}, s.args...)
	s.out = &bytes.Buffer{}
	s.cmd = exec.Command(path, args...)
	s.cmd.Stdout, s.cmd.Stderr = s.out, s.out
	if err := s.cmd.Start(); err != nil {
		return fmt.Errorf("start redis-server: %w", err)
	}
	return s.await()
}

// await returns when the server answers anything at all: also "loading" and "no
// password" are answers.
func (s *Server) await() error {
	var d net.Dialer
	for deadline := time.Now().Add(startTimeout); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if s.ping(&d) {
			return nil
		}
	}
	s.Kill()
	return fmt.Errorf("redis-server on %s does not answer after %s: %s", s.Addr(), startTimeout, s.out)
}

func (s *Server) ping(d *net.Dialer) bool {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	c, err := d.DialContext(ctx, "tcp", s.Addr())
	if err != nil {
		return false
	}
	defer func() { _ = c.Close() }()
	_ = c.SetDeadline(time.Now().Add(time.Second))
	if _, err := c.Write([]byte("PING\r\n")); err != nil {
		return false
	}
	n, err := c.Read(make([]byte, 64))
	return err == nil && n > 0
}

// Pid is the process ID; 0 when it does not run.
func (s *Server) Pid() int {
	if s.cmd == nil || s.cmd.Process == nil {
		return 0
	}
	return s.cmd.Process.Pid
}

// Stop ends the process with SIGTERM and waits for it.
func (s *Server) Stop() { s.end(syscall.SIGTERM) }

// Kill ends the process with SIGKILL and waits for it.
func (s *Server) Kill() { s.end(syscall.SIGKILL) }

// Pause freezes the process: its sockets stay open and nothing answers.
func (s *Server) Pause() { s.signal(syscall.SIGSTOP) }

// Continue ends Pause.
func (s *Server) Continue() { s.signal(syscall.SIGCONT) }

func (s *Server) signal(sig syscall.Signal) {
	if s.Pid() != 0 {
		_ = s.cmd.Process.Signal(sig)
	}
}

func (s *Server) end(sig syscall.Signal) {
	if s.Pid() == 0 {
		return
	}
	s.signal(sig)
	_ = s.cmd.Wait()
	s.cmd = nil
}

func maintDisabled() *maintnotifications.Config {
	return &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
}
