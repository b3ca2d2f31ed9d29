//go:build unix

package main

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/redis/go-redis/v9"
	"golang.org/x/crypto/bcrypt"

	"leasehold/internal/certtest"
	"leasehold/internal/redistest"
)

// marked begins every secret of the test, and is in nothing else.
const marked = "M4RKED"

// spill collects all that a fleet with secrets lets out, and what must not be in it.
type spill struct {
	t      *testing.T
	path   string
	env    []string
	server *redistest.Server
	admin  *redis.Client
	ca     *certtest.Authority

	mu     sync.Mutex
	hidden []string
	leaks  map[string]bool // told already
	seen   map[string]int  // bytes by where they came from
}

// hide adds to what must not be seen, as it is and as credentials are sent.
func (s *spill) hide(secrets ...string) {
	for _, secret := range secrets {
		s.hidden = append(s.hidden, secret, base64.StdEncoding.EncodeToString([]byte(secret)))
	}
}

// judge looks for secrets in what came from somewhere.
func (s *spill) judge(from, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen[from] += len(text)
	for line := range strings.Lines(text) {
		for _, secret := range s.hidden {
			if strings.Contains(line, secret) && !s.leaks[from+secret] {
				s.leaks[from+secret] = true
				s.t.Errorf("%s shows %s: %.600s", from, secret, line)
			}
		}
	}
}

// output judges a process line by line, and keeps all.
type output struct {
	lines

	spill *spill
	from  string
	rest  []byte
}

func (o *output) Write(p []byte) (int, error) {
	o.rest = append(o.rest, p...)
	if end := bytes.LastIndexByte(o.rest, '\n'); end >= 0 {
		o.spill.judge(o.from, string(o.rest[:end+1]))
		o.rest = o.rest[end+1:]
	}
	return o.lines.Write(p)
}

// node starts a node at debug level, and returns its log.
func (s *spill) node(name string, more ...string) *output {
	s.t.Helper()
	log := &output{spill: s, from: "the log of " + name}
	cmd := exec.Command(s.path, "run")
	cmd.Env = append(append(slices.Clip(s.env), "LEASEHOLD_INSTANCE_NAME="+name, "LEASEHOLD_LOG_LEVEL=debug"), more...)
	cmd.Stdout, cmd.Stderr = &output{spill: s, from: "the results of " + name}, log
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	})
	return log
}

// command runs one in this process and judges what it prints; how it ends is not of
// interest here.
func (s *spill) command(input string, env []string, args ...string) {
	s.t.Helper()
	var out bytes.Buffer
	a := &app{
		environ: append(slices.Clip(s.env), env...), stdin: strings.NewReader(input), stdout: &out, stderr: &out,
		started: start(), runNode: runNode,
	}
	a.run(args)
	s.judge(strings.Join(args, " "), out.String())
	if out.Len() == 0 {
		s.t.Errorf("%v prints nothing", args)
	}
}

// newSpill makes a fleet's Redis, files and settings, with secrets in all of them.
func newSpill(t *testing.T) *spill {
	t.Helper()
	const password = marked + "redis"
	s := &spill{t: t, path: program(t), ca: certtest.New(t), leaks: map[string]bool{}, seen: map[string]int{}}
	s.server = redistest.StartServer(t, "--requirepass", password)
	s.admin = s.server.Client(func(o *redis.Options) { o.Password = password })
	t.Cleanup(func() { _ = s.admin.Close() })
	dir := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	hash, err := bcrypt.GenerateFromPassword([]byte(marked+"user"), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	cert, key := s.ca.Pair(t, "127.0.0.1")
	text, err := os.ReadFile(key)
	if err != nil {
		t.Fatal(err)
	}
	s.hide(marked, password, string(hash), "ann:"+marked+"user", marked+"User:"+marked+"Pass")
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); !strings.Contains(line, "-----") {
			s.hidden = append(s.hidden, line)
		}
	}
	s.env = append(os.Environ(),
		"LEASEHOLD_REDIS_URL=redis://:"+password+"@"+s.server.Addr()+"/0",
		"LEASEHOLD_API_TOKEN_FILE="+write("token", marked+"token"),
		"LEASEHOLD_API_USERS_FILE="+write("users", "ann:"+string(hash)+"\n"),
		"LEASEHOLD_HTTP_CERT_FILE="+cert, "LEASEHOLD_HTTP_KEY_FILE="+key, "LEASEHOLD_PPROF=true",
		"LEASEHOLD_RESULT_SINKS=stdout,webhook",
		"LEASEHOLD_RESULT_WEBHOOK_SECRET=whsec_"+marked+strings.Repeat("A", 34),
		"LEASEHOLD_LEASE_TTL=6s", "LEASEHOLD_LEASE_RENEW_INTERVAL=1s", "LEASEHOLD_RECONCILE_INTERVAL=1s",
	)
	return s
}

// Whatever goes wrong, and wherever one looks: no secret of the settings or of a
// document is shown.
func TestNothingThatIsShownHoldsASecret(t *testing.T) {
	t.Parallel()
	s := newSpill(t)
	ids := s.documents()
	webhook := s.target("webhook")
	addr := fmt.Sprintf("127.0.0.1:%d", redistest.FreePort(t))
	a := s.node("a", append(s.traces(), "LEASEHOLD_HTTP_ADDR="+addr,
		"LEASEHOLD_RESULT_WEBHOOK_URL="+s.withSecrets(webhook+"/hook/"+marked))...)
	// Alone it has all sessions; once there are two, either may have those that answer.
	a.await(t, `"event":"node.ready"`, `"event":"poll.succeeded"`, `"event":"session.invalid"`, `"event":"result.dropped"`, `"event":"traces.dropped"`)
	b := s.node("b", "LEASEHOLD_LOG_FORMAT=console", "LEASEHOLD_HTTP_ADDR=",
		"LEASEHOLD_RESULT_WEBHOOK_URL="+s.withSecrets("http://127.0.0.1:1/hook/"+marked))
	b.await(t, "poll.failed")
	s.failures(ids)
	s.api(addr, ids)
	s.commands(addr, ids)
	s.settings()

	// Redis takes no password that they know, and then takes it again.
	for _, password := range []string{marked + "other", marked + "redis"} {
		for _, do := range [][]any{{"CONFIG", "SET", "requirepass", password}, {"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"}, {"CLIENT", "KILL", "TYPE", "pubsub"}} {
			if err := s.admin.Do(t.Context(), do...).Err(); err != nil {
				t.Fatal(err)
			}
		}
		if password != marked+"redis" {
			a.await(t, "WRONGPASS")
			s.api(addr, ids[:1])
			s.commands(addr, ids[:1])
		}
	}
	s.redis()
	s.mu.Lock() // the nodes still write
	defer s.mu.Unlock()
	if a.String() == "" || len(s.seen) < 40 {
		t.Errorf("only this was looked at: %v", s.seen)
	}
}
