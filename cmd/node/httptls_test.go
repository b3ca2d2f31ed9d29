package main

import (
	"crypto/tls"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"golang.org/x/crypto/bcrypt"

	"leasehold/certfile"
	"leasehold/internal/certtest"
	"leasehold/internal/redistest"
)

// address returns where the node listens.
func address(t *testing.T, out *lines) string {
	t.Helper()
	out.await(t, `"event":"node.ready"`)
	found := regexp.MustCompile(`"http_addr":"([^"]+)"`).FindStringSubmatch(out.String())
	if found == nil {
		t.Fatalf("no address in\n%s", out)
	}
	return found[1]
}

// askTLS returns the status of a request, and the name in the certificate of the server.
func askTLS(t *testing.T, ca *certtest.Authority, url, user, password string) (status int, name string) {
	t.Helper()
	roots, err := certfile.Authorities(ca.File)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true, DisableKeepAlives: true,
	}}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	if user != "" {
		r.SetBasicAuth(user, password)
	}
	resp, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.TLS == nil || resp.ProtoMajor != 2 {
		t.Fatalf("%s came by %s, TLS %t", url, resp.Proto, resp.TLS != nil)
	}
	return resp.StatusCode, resp.TLS.PeerCertificates[0].Issuer.CommonName + " " + resp.TLS.PeerCertificates[0].SerialNumber.String()
}

func TestTheServerSpeaksTLSAndKnowsItsUsers(t *testing.T) {
	ca := certtest.New(t)
	cert, key := ca.Pair(t, "127.0.0.1")
	hash, err := bcrypt.GenerateFromPassword([]byte("right"), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	users := filepath.Join(t.TempDir(), "users")
	if err := os.WriteFile(users, append([]byte("ann:"), hash...), 0o600); err != nil {
		t.Fatal(err)
	}
	out, _ := runs(t, "LEASEHOLD_REDIS_URL="+redistest.StartServer(t).URL(), "LEASEHOLD_HTTP_ADDR=127.0.0.1:0",
		"LEASEHOLD_HTTP_CERT_FILE="+cert, "LEASEHOLD_HTTP_KEY_FILE="+key, "LEASEHOLD_API_USERS_FILE="+users, "LEASEHOLD_PPROF=true")
	at := address(t, out)

	_, first := askTLS(t, ca, "https://"+at+"/healthz", "", "")
	for path, want := range map[string][3]int{ // without, with a wrong, with the right password
		"/healthz": {200, 200, 200}, "/readyz": {200, 200, 200},
		"/api/v1/status": {401, 401, 200}, "/debug/pprof/": {401, 401, 200},
	} {
		var got [3]int
		got[0], _ = askTLS(t, ca, "https://"+at+path, "", "")
		got[1], _ = askTLS(t, ca, "https://"+at+path, "ann", "wrong")
		got[2], _ = askTLS(t, ca, "https://"+at+path, "ann", "right")
		if got != want {
			t.Errorf("%s answers %v, want %v", path, got, want)
		}
	}
	if resp, err := http.Get("http://" + at + "/healthz"); err == nil {
		if resp.StatusCode != http.StatusBadRequest {
			t.Errorf("without TLS it answers %d", resp.StatusCode)
		}
		_ = resp.Body.Close()
	}

	ca.Renew(t, "127.0.0.1", cert, key)
	for _, f := range []string{cert, key} {
		if err := os.Chtimes(f, time.Time{}, time.Now().Add(time.Second)); err != nil {
			t.Fatal(err)
		}
	}
	if _, second := askTLS(t, ca, "https://"+at+"/healthz", "", ""); second == first {
		t.Error("a certificate that was replaced is shown for ever")
	}
}
