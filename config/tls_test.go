package config_test

import (
	"path/filepath"
	"strings"
	"testing"

	"leasehold/config"
	"leasehold/internal/certtest"
)

func TestFilesOfCertificatesAreCheckedTogetherWithTheRest(t *testing.T) {
	ca := certtest.New(t)
	cert, key := ca.Pair(t, "n1")
	_, foreign := ca.Pair(t, "n2")
	none := filepath.Join(t.TempDir(), "none")
	const tls = "LEASEHOLD_REDIS_URL=rediss://h "
	for environ, want := range map[string]string{
		tls + "LEASEHOLD_REDIS_CA_FILE=" + none:                                            "LEASEHOLD_REDIS_CA_FILE=%q: must be a readable file in PEM: no such file or directory",
		tls + "LEASEHOLD_REDIS_CA_FILE=" + key:                                             "LEASEHOLD_REDIS_CA_FILE=%q: must be a readable file in PEM: holds no certificate in PEM",
		tls + "LEASEHOLD_REDIS_CERT_FILE=" + cert:                                          "LEASEHOLD_REDIS_CERT_FILE=%q: needs LEASEHOLD_REDIS_KEY_FILE",
		tls + "LEASEHOLD_REDIS_KEY_FILE=" + key:                                            "LEASEHOLD_REDIS_KEY_FILE=%q: needs LEASEHOLD_REDIS_CERT_FILE",
		tls + "LEASEHOLD_REDIS_KEY_FILE=" + key + " LEASEHOLD_REDIS_CERT_FILE=" + none:     "LEASEHOLD_REDIS_CERT_FILE=%q: must be a readable file in PEM: no such file or directory",
		tls + "LEASEHOLD_REDIS_CERT_FILE=" + cert + " LEASEHOLD_REDIS_KEY_FILE=" + foreign: "LEASEHOLD_REDIS_KEY_FILE=%q: must be a readable file in PEM: tls: private key does not match public key",
		"LEASEHOLD_REDIS_URL=redis://h LEASEHOLD_REDIS_CA_FILE=" + ca.File:                 "LEASEHOLD_REDIS_CA_FILE=%q: needs LEASEHOLD_REDIS_URL to start with rediss://",
		"LEASEHOLD_REDIS_URL=unix:///s LEASEHOLD_REDIS_SERVER_NAME=h":                      "LEASEHOLD_REDIS_SERVER_NAME=%q: needs LEASEHOLD_REDIS_URL to start with rediss://",
	} {
		_, err := config.Load(strings.Split(environ, " "), nil)
		words := strings.Split(environ, "=")
		want = strings.Replace(want, "%q", `"`+words[len(words)-1]+`"`, 1)
		if err == nil || err.Error() != want {
			t.Errorf("%s gives\n%v\nwant\n%s", environ, err, want)
		}
	}
}

func TestWhatConnectionsToRedisAreMadeWith(t *testing.T) {
	ca := certtest.New(t)
	cert, key := ca.Pair(t, "n1")
	cfg := load(t, "LEASEHOLD_REDIS_URL=rediss://a,b", "LEASEHOLD_REDIS_CA_FILE="+ca.File, "LEASEHOLD_REDIS_CERT_FILE="+cert,
		"LEASEHOLD_REDIS_KEY_FILE="+key, "LEASEHOLD_REDIS_SERVER_NAME=redis.example")
	got, err := cfg.RedisTLS(nil)
	if err != nil || got.RootCAs == nil || got.GetClientCertificate == nil || got.ServerName != "redis.example" || got.InsecureSkipVerify {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := load(t, "LEASEHOLD_REDIS_URL=rediss://a").RedisTLS(nil); got != nil || err != nil {
		t.Errorf("nothing set gives %+v, %v", got, err)
	}
}

func TestWhoAsksANodeNeedsItsAddressAlone(t *testing.T) {
	none := filepath.Join(t.TempDir(), "none")
	cfg, err := config.LoadAddress([]string{
		"LEASEHOLD_HTTP_ADDR=h:1", "LEASEHOLD_HTTP_CERT_FILE=" + none, "LEASEHOLD_HTTP_KEY_FILE=" + none, "LEASEHOLD_LEASE_TTL=soon",
	}, map[string]string{"LEASEHOLD_HTTP_ADDR": "h:2"})
	if err != nil || cfg.HTTPAddr != "h:2" || cfg.HTTPCertFile != none || cfg.HTTPKeyFile != none || cfg.Source("LEASEHOLD_HTTP_ADDR") != config.Flag {
		t.Errorf("%+v, %v", cfg, err)
	}
	_, err = config.LoadAddress([]string{"LEASEHOLD_HTTP_ADDR=nonsense", "LEASEHOLD_HTTP_KEY_FILE=" + none}, nil)
	if err == nil || !strings.Contains(err.Error(), "LEASEHOLD_HTTP_ADDR=") || !strings.Contains(err.Error(), "needs LEASEHOLD_HTTP_CERT_FILE") {
		t.Errorf("%v", err)
	}
}
