package certfile_test

import (
	"crypto/tls"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"leasehold/certfile"
	"leasehold/internal/certtest"
)

// shown returns the name in the certificate that the pair shows now.
func shown(t *testing.T, p *certfile.Pair) string {
	t.Helper()
	client, err := p.ForClient(&tls.CertificateRequestInfo{})
	if err != nil {
		t.Fatal(err)
	}
	server, err := p.ForServer(&tls.ClientHelloInfo{})
	if err != nil || server.Leaf.Subject.String() != client.Leaf.Subject.String() {
		t.Fatalf("a server shows %v (%v), a client %v", server.Leaf.Subject, err, client.Leaf.Subject)
	}
	return server.Leaf.Subject.CommonName
}

// later makes sure that the files' times differ from those of before.
func later(t *testing.T, by time.Duration, files ...string) {
	t.Helper()
	for _, f := range files {
		if err := os.Chtimes(f, time.Time{}, time.Now().Add(by)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAPairThatWasReplacedIsShownWithoutARestart(t *testing.T) {
	ca := certtest.New(t)
	cert, key := ca.Pair(t, "first")
	p, err := certfile.Load(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	if got := shown(t, p); got != "first" {
		t.Errorf("shows %s", got)
	}
	ca.Renew(t, "second", cert, key)
	later(t, time.Second, cert, key)
	if got := shown(t, p); got != "second" {
		t.Errorf("shows %s after the replacement", got)
	}
}

func TestHalfAReplacementChangesNothing(t *testing.T) {
	ca := certtest.New(t)
	cert, key := ca.Pair(t, "first")
	p, err := certfile.Load(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	nextCert, nextKey := ca.Pair(t, "second")
	if err := os.Rename(nextCert, cert); err != nil {
		t.Fatal(err)
	}
	later(t, time.Second, cert)
	if got := shown(t, p); got != "first" {
		t.Errorf("shows %s with the former key", got)
	}
	if err := os.Rename(nextKey, key); err != nil {
		t.Fatal(err)
	}
	later(t, 2*time.Second, key)
	if got := shown(t, p); got != "second" {
		t.Errorf("shows %s when both are replaced", got)
	}
	if err := os.Remove(cert); err != nil {
		t.Fatal(err)
	}
	if got := shown(t, p); got != "second" {
		t.Errorf("shows %s when one is gone", got)
	}
}

// Two files that are at odds for a moment are being replaced; later somebody must know.
func TestFilesThatStayUnfitAreTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ca := certtest.New(t)
		cert, key := ca.Pair(t, "first")
		p, err := certfile.Load(cert, key)
		if err != nil {
			t.Fatal(err)
		}
		var told []error
		p.WhenUnfit(func(err error) { told = append(told, err) })
		ask := func(want int) {
			t.Helper()
			if got := shown(t, p); got != "first" || len(told) != want {
				t.Errorf("shows %s, told %v, want %d", got, told, want)
			}
		}
		if err := os.WriteFile(cert, []byte("junk"), 0o600); err != nil {
			t.Fatal(err)
		}
		ask(0)
		time.Sleep(9 * time.Second)
		ask(0)
		time.Sleep(time.Second)
		ask(1)
		time.Sleep(time.Hour)
		ask(1)
		if err := os.Remove(cert); err != nil {
			t.Fatal(err)
		}
		ask(1)
		time.Sleep(10 * time.Second)
		ask(2)
		ca.Renew(t, "second", cert, key)
		if got := shown(t, p); got != "second" {
			t.Errorf("shows %s", got)
		}
		time.Sleep(time.Hour)
		shown(t, p)
		if len(told) != 2 {
			t.Errorf("told %v", told)
		}
	})
}

func TestErrorsSayWhichFileIsWrong(t *testing.T) {
	ca := certtest.New(t)
	cert, key := ca.Pair(t, "h")
	_, foreign := ca.Pair(t, "h")
	none := filepath.Join(t.TempDir(), "none")
	for name, c := range map[string]struct {
		cert, key  string
		keyIsWrong bool // the key
	}{
		"no certificate":         {none, key, false},
		"a key as a certificate": {key, key, false},
		"no key":                 {cert, none, true},
		"a certificate as a key": {cert, cert, true},
		"the key of another":     {cert, foreign, true},
	} {
		_, err := certfile.Load(c.cert, c.key)
		e, ok := errors.AsType[*certfile.Error](err)
		if !ok || e.Key != c.keyIsWrong || strings.Contains(err.Error(), none) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, file := range []string{none, key} {
		if _, err := certfile.Authorities(file); err == nil {
			t.Errorf("%s holds authorities", file)
		}
	}
}
