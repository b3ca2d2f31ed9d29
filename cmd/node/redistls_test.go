package main

import (
	"bytes"
	"context"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"leasehold/eventlog"
	"leasehold/internal/certtest"
	"leasehold/internal/redistest"
)

// lines are what a node logs while it runs.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// await fails the test if the texts are not logged soon.
func (l *lines) await(t *testing.T, texts ...string) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		missing := ""
		for _, text := range texts {
			if !strings.Contains(l.String(), text) {
				missing = text
			}
		}
		if missing == "" {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s is not logged:\n%s", missing, l)
		}
	}
}

// runs runs a whole node in this process until the test ends, or stop is called,
// which returns its exit code.
func runs(t *testing.T, environ ...string) (out *lines, stop func() exitCode) {
	t.Helper()
	cfg := settings(t, environ...)
	out = &lines{}
	log := eventlog.New(out, eventlog.Options{Level: eventlog.Debug, InstanceID: "n-1-00000001"})
	asked, ended := make(chan string, 1), make(chan exitCode, 1)
	go func() {
		ended <- runNode(context.Background(), asked, nodeSpec{cfg: cfg, instance: "n-1-00000001", log: log, stdout: out})
	}()
	stop = sync.OnceValue(func() exitCode {
		asked <- "test"
		close(asked)
		code := <-ended
		log.Close()
		return code
	})
	t.Cleanup(func() { stop() })
	return out, stop
}

// encrypted starts a Redis that wants TLS and certificates of the authority.
func encrypted(t *testing.T, ca *certtest.Authority) (server *redistest.Server, address string) {
	t.Helper()
	cert, key := ca.Pair(t, "127.0.0.1")
	port := redistest.FreePort(t)
	server = redistest.StartServer(t, "--tls-port", strconv.Itoa(port), "--tls-cert-file", cert, "--tls-key-file", key, "--tls-ca-cert-file", ca.File)
	return server, "rediss://127.0.0.1:" + strconv.Itoa(port)
}

func TestANodeWorksOverTLSWithCertificatesOfItsOwn(t *testing.T) {
	ca := certtest.New(t)
	server, address := encrypted(t, ca)
	cert, key := ca.Pair(t, "node")
	admin := server.Client()
	defer func() { _ = admin.Close() }()
	if err := admin.Set(t.Context(), "session:hello", `{"kind":"log","interval":"1s"}`, 0).Err(); err != nil {
		t.Fatal(err)
	}
	out, stop := runs(t, "LEASEHOLD_REDIS_URL="+address, "LEASEHOLD_REDIS_CA_FILE="+ca.File,
		"LEASEHOLD_REDIS_CERT_FILE="+cert, "LEASEHOLD_REDIS_KEY_FILE="+key, "LEASEHOLD_HTTP_ADDR=")
	out.await(t, `"event":"node.ready"`, `"event":"events.subscribed"`, `"event":"lease.acquired"`, `"event":"poll.succeeded"`)

	list, err := admin.Do(t.Context(), "CLIENT", "LIST").Text()
	if err != nil {
		t.Fatal(err)
	}
	subscribed := 0
	for line := range strings.Lines(list) {
		if strings.Contains(line, "laddr="+server.Addr()) && !strings.Contains(line, "cmd=client|list") {
			t.Errorf("a connection is not encrypted: %s", line)
		}
		if strings.Contains(line, "laddr="+strings.TrimPrefix(address, "rediss://")) && !strings.Contains(line, " sub=0 ") {
			subscribed++
		}
	}
	if subscribed != 1 {
		t.Errorf("%d subscriptions over TLS:\n%s", subscribed, list)
	}
	if code := stop(); code != exitOK {
		t.Errorf("exit %d: %s", code, out)
	}
}

func TestWhatIsWrongWithTLSIsNamed(t *testing.T) {
	ca, other := certtest.New(t), certtest.New(t)
	server, address := encrypted(t, ca)
	cert, key := ca.Pair(t, "node")
	strangeCert, strangeKey := other.Pair(t, "node")
	ours := []string{"LEASEHOLD_REDIS_CERT_FILE=" + cert, "LEASEHOLD_REDIS_KEY_FILE=" + key}
	for name, c := range map[string]struct {
		environ []string
		want    string
	}{
		"an authority of others":       {append([]string{"LEASEHOLD_REDIS_CA_FILE=" + other.File}, ours...), "Set LEASEHOLD_REDIS_CA_FILE"},
		"no authority":                 {ours, "Set LEASEHOLD_REDIS_CA_FILE"},
		"no certificate":               {[]string{"LEASEHOLD_REDIS_CA_FILE=" + ca.File}, "Set LEASEHOLD_REDIS_CERT_FILE"},
		"a certificate of others":      {[]string{"LEASEHOLD_REDIS_CA_FILE=" + ca.File, "LEASEHOLD_REDIS_CERT_FILE=" + strangeCert, "LEASEHOLD_REDIS_KEY_FILE=" + strangeKey}, "Set LEASEHOLD_REDIS_CERT_FILE"},
		"another name":                 {append([]string{"LEASEHOLD_REDIS_CA_FILE=" + ca.File, "LEASEHOLD_REDIS_SERVER_NAME=redis.example"}, ours...), "Set LEASEHOLD_REDIS_SERVER_NAME"},
		"a port that does not encrypt": {[]string{"LEASEHOLD_REDIS_URL=rediss://" + server.Addr()}, "does not speak TLS"},
		"a port that encrypts only":    {[]string{"LEASEHOLD_REDIS_URL=redis" + strings.TrimPrefix(address, "rediss")}, "wants TLS"},
	} {
		t.Run(name, func(t *testing.T) {
			code, text := contact(t, false, append([]string{"LEASEHOLD_REDIS_URL=" + address}, c.environ...)...)
			if code != exitFailure || !strings.Contains(text, c.want) {
				t.Errorf("exit %d: %s\nlacks %s", code, text, c.want)
			}
		})
	}
}
