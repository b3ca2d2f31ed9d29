package main

import (
	"crypto/tls"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
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

func TestAHealthCheckBelievesOnlyTheCertificateOfTheSettings(t *testing.T) {
	ca := certtest.New(t)
	cert, key := ca.Pair(t, "node.example") // not the name that is asked
	foreignCert, foreignKey := ca.Pair(t, "node.example")
	shown, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("fine")) }))
	s.TLS = &tls.Config{Certificates: []tls.Certificate{shown}}
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // it is refused on purpose
	s.StartTLS()
	defer s.Close()
	addr := "LEASEHOLD_HTTP_ADDR=" + strings.TrimPrefix(s.URL, "https://")
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
