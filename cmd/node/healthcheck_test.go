package main

import (
	"crypto/tls"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"leasehold/internal/certtest"
)

func TestAHealthCheckExitsAsTheNodeSays(t *testing.T) {
	asked := ""
	status := http.StatusOK
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = r.URL.Path
		w.WriteHeader(status)
		_, _ = w.Write([]byte(`{"status":"x"}`))
	}))
	defer s.Close()
	addr := strings.TrimPrefix(s.URL, "http://")
	environ := []string{"LEASEHOLD_HTTP_ADDR=" + addr}
	if got := execute(environ, "healthcheck"); got.code != exitOK || asked != "/healthz" || got.stdout != `{"status":"x"}`+"\n" {
		t.Errorf("%+v, it asked %s", got, asked)
	}
	if got := execute(nil, "healthcheck", "--ready", "--http-addr", addr); got.code != exitOK || asked != "/readyz" {
		t.Errorf("%+v, it asked %s", got, asked)
	}
	status = http.StatusServiceUnavailable
	if got := execute(environ, "healthcheck"); got.code != exitFailure || got.stdout != "" || !strings.Contains(got.stderr, `is 503: {"status":"x"}`) {
		t.Errorf("%+v", got)
	}
	s.Close()
	if got := execute(environ, "healthcheck"); got.code != exitFailure || !strings.Contains(got.stderr, "does not answer") {
		t.Errorf("%+v", got)
	}
}

func TestAHealthCheckNeedsAnAddressThatCanBeAsked(t *testing.T) {
	for addr, want := range map[string]string{
		"":            "no HTTP server",
		"127.0.0.1:0": "http_addr",
		"nonsense":    "LEASEHOLD_HTTP_ADDR",
	} {
		got := execute([]string{"LEASEHOLD_HTTP_ADDR=" + addr}, "healthcheck")
		if got.code != exitUsage || !strings.Contains(got.stderr, want) {
			t.Errorf("%q: %+v", addr, got)
		}
	}
	for addr, want := range map[string]string{
		":8080": "127.0.0.1:8080", "0.0.0.0:80": "127.0.0.1:80", "[::]:80": "[::1]:80", "10.0.0.7:80": "10.0.0.7:80", "node:1": "node:1",
	} {
		if got, err := reachable(addr); got != want || err != nil {
			t.Errorf("%s is asked at %s (%v), want %s", addr, got, err, want)
		}
	}
}

// secure serves with a certificate, as a node that is well, and returns the setting of where.
func secure(t *testing.T, cert, key string) string {
	t.Helper()
	shown, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("fine")) }))
	s.TLS = &tls.Config{Certificates: []tls.Certificate{shown}}
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // it is refused on purpose
	s.StartTLS()
	t.Cleanup(s.Close)
	return "LEASEHOLD_HTTP_ADDR=" + strings.TrimPrefix(s.URL, "https://")
}

func TestAHealthCheckBelievesOnlyTheCertificateOfTheSettings(t *testing.T) {
	ca := certtest.New(t)
	cert, key := ca.Pair(t, "node.example") // not the name that is asked
	foreignCert, foreignKey := ca.Pair(t, "node.example")
	addr := secure(t, cert, key)
	with := func(cert, key string) outcome {
		return execute([]string{addr, "LEASEHOLD_HTTP_CERT_FILE=" + cert, "LEASEHOLD_HTTP_KEY_FILE=" + key}, "healthcheck")
	}
	if got := with(cert, key); got.code != exitOK || got.stdout != "fine\n" {
		t.Errorf("%+v", got)
	}
	if got := with(foreignCert, foreignKey); got.code != exitFailure || !strings.Contains(got.stderr, "another certificate") {
		t.Errorf("one of another, by the same authority, is believed: %+v", got)
	}
	if got := execute([]string{addr}, "healthcheck"); got.code != exitFailure {
		t.Errorf("without TLS: %+v", got)
	}
}

// While the files are replaced, one after the other, the node goes on with the former
// pair: it is well, and has to be known by what there is of either.
func TestAHealthCheckKnowsTheNodeWhileItsFilesAreReplaced(t *testing.T) {
	ca := certtest.New(t)
	cert, key := ca.Pair(t, "node.example")
	newCert, newKey := ca.Pair(t, "node.example")
	addr := secure(t, cert, key)
	none := filepath.Join(t.TempDir(), "none")
	for name, c := range map[string]struct {
		cert, key string
		code      exitCode
		says      string
	}{
		"the certificate is new":   {newCert, key, exitOK, ""},
		"the key is new":           {cert, newKey, exitOK, ""},
		"the certificate is away":  {none, key, exitOK, ""},
		"the key is away":          {cert, none, exitOK, ""},
		"the key is being written": {cert, ca.File, exitOK, ""},
		"both are new":             {newCert, newKey, exitFailure, "another certificate"},
		"both are away":            {none, none, exitUsage, "LEASEHOLD_HTTP_CERT_FILE"},
		"no key is named":          {cert, "", exitUsage, "needs LEASEHOLD_HTTP_KEY_FILE"},
	} {
		got := execute([]string{addr, "LEASEHOLD_HTTP_CERT_FILE=" + c.cert, "LEASEHOLD_HTTP_KEY_FILE=" + c.key}, "healthcheck")
		if got.code != c.code || !strings.Contains(got.stderr, c.says) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// What else the node was started with does not matter: it was checked then, and may have
// been changed since.
func TestAHealthCheckNeedsTheAddressAlone(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer s.Close()
	none := filepath.Join(t.TempDir(), "none")
	got := execute([]string{
		"LEASEHOLD_HTTP_ADDR=" + strings.TrimPrefix(s.URL, "http://"), "LEASEHOLD_API_TOKEN_FILE=" + none, "LEASEHOLD_API_USERS_FILE=" + none,
		"LEASEHOLD_REDIS_URL=rediss://h", "LEASEHOLD_REDIS_CA_FILE=" + none, "LEASEHOLD_RESULT_WEBHOOK_SECRET_FILE=" + none,
	}, "healthcheck")
	if got.code != exitOK {
		t.Errorf("%+v", got)
	}
}
