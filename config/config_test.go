package config_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"leasehold/config"
	"leasehold/eventlog"
	"leasehold/internal/doctest"
	"leasehold/rediskey"
)

func load(t *testing.T, environ ...string) config.Config {
	t.Helper()
	cfg, err := config.Load(environ, nil)
	if err != nil {
		t.Fatalf("%v: %v", environ, err)
	}
	return cfg
}

// The defaults of the public contract.
func TestNothingSetGivesTheDefaults(t *testing.T) {
	cfg := load(t)
	if cfg.InstanceName == "" {
		t.Error("the instance has no name")
	}
	want := config.Config{
		Redis: []config.RedisURL{"redis://127.0.0.1:6379/0"}, RedisTimeout: 2 * time.Second,
		InstanceName: cfg.InstanceName,
		Keys:         rediskey.Keys{Prefix: "poll:", SessionPrefix: "session:"}, SessionIDFormat: config.AnyID,
		LeaseTTL: 30 * time.Second, LeaseRenewInterval: 10 * time.Second, LeaseSafetyMargin: 2 * time.Second,
		HeartbeatTTL: 30 * time.Second, HeartbeatInterval: 10 * time.Second,
		ReconcileInterval: 10 * time.Second, KeyspaceEvents: config.EventsAuto,
		PollInterval: 10 * time.Second, PollTimeout: 5 * time.Second,
		PollConcurrency: 256, PollMaxBody: 1 << 20, DenyTargets: nets("169.254.0.0/16", "fe80::/10", "fd00:ec2::254/128"), MaxSessions: 0, DrainTimeout: 25 * time.Second,
		ResultStream: "poll:results", ResultMaxLen: 100_000, HTTPAddr: "127.0.0.1:8080",
		LogLevel: eventlog.Info, LogFormat: eventlog.JSON,
	}
	same(t, cfg, want)
	for _, s := range cfg.Settings() {
		if s.Source != config.Default {
			t.Errorf("%s comes from %s", s.Name, s.Source)
		}
	}
}

func nets(texts ...string) (all []netip.Prefix) {
	for _, text := range texts {
		all = append(all, netip.MustParsePrefix(text))
	}
	return all
}

func TestAllTargetsCanBeAllowed(t *testing.T) {
	for _, word := range []string{"", "none", " "} {
		if got := load(t, "LEASEHOLD_DENY_TARGETS="+word).DenyTargets; got != nil {
			t.Errorf("%q denies %v", word, got)
		}
	}
}

// same compares exported fields only.
func same(t *testing.T, got, want config.Config) {
	t.Helper()
	g, w := reflect.ValueOf(got), reflect.ValueOf(want)
	for i := range g.NumField() {
		f := g.Type().Field(i)
		if f.IsExported() && !reflect.DeepEqual(g.Field(i).Interface(), w.Field(i).Interface()) {
			t.Errorf("%s is %v, want %v", f.Name, g.Field(i), w.Field(i))
		}
	}
}

// signing is a secret of 24 bytes.
const signing = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3"

func TestEveryVariableReachesItsField(t *testing.T) {
	set := map[string]string{
		"LEASEHOLD_REDIS_URL":            "rediss://u:p@a:1/0,rediss://b:2",
		"LEASEHOLD_REDIS_TIMEOUT":        "1s",
		"LEASEHOLD_REDIS_SERVER_NAME":    "redis.example",
		"LEASEHOLD_INSTANCE_NAME":        "n1",
		"LEASEHOLD_KEY_PREFIX":           "k:",
		"LEASEHOLD_SESSION_ID_FORMAT":    "uuid",
		"LEASEHOLD_SESSION_PREFIX":       "doc:",
		"LEASEHOLD_LEASE_TTL":            "12s",
		"LEASEHOLD_LEASE_RENEW_INTERVAL": "5s",
		"LEASEHOLD_HEARTBEAT_TTL":        "14s",
		"LEASEHOLD_HEARTBEAT_INTERVAL":   "6s",
		"LEASEHOLD_LEASE_SAFETY_MARGIN":  "3s",
		"LEASEHOLD_RECONCILE_INTERVAL":   "7s",
		"LEASEHOLD_KEYSPACE_EVENTS":      "require",
		"LEASEHOLD_POLL_INTERVAL":        "100ms",
		"LEASEHOLD_POLL_TIMEOUT":         "8s",
		"LEASEHOLD_POLL_CONCURRENCY":     "9",
		"LEASEHOLD_HOST_CONCURRENCY":     "4",
		"LEASEHOLD_POLL_MAX_BODY":        "3KB",
		"LEASEHOLD_DENY_TARGETS":         "10.1.2.3/8, ::1,link-local,10.0.0.0/8,::ffff:192.0.2.0/120",
		"LEASEHOLD_MAX_SESSIONS":         "11",
		"LEASEHOLD_DRAIN_TIMEOUT":        "15s",
		"LEASEHOLD_RESULT_STREAM":        "out",
		"LEASEHOLD_RESULT_MAXLEN":        "17",
		"LEASEHOLD_RESULT_SINKS":         "webhook, stdout",
		"LEASEHOLD_RESULT_WEBHOOK_URL":   "https://h/in?k=v",

		"LEASEHOLD_RESULT_WEBHOOK_SECRET": signing,
		"LEASEHOLD_HTTP_ADDR":             ":0",
		"LEASEHOLD_API_TOKEN":             "t0ken",
		"LEASEHOLD_API_OPEN":              "1",
		"LEASEHOLD_PPROF":                 "true",
		"LEASEHOLD_API_RESOURCE":          "scenes",
		"LEASEHOLD_LOG_LEVEL":             "debug",
		"LEASEHOLD_LOG_FORMAT":            "console",
	}
	want := config.Config{
		Redis: []config.RedisURL{"rediss://u:p@a:1/0", "rediss://b:2"}, RedisTimeout: time.Second,
		RedisServerName: "redis.example",
		InstanceName:    "n1", Keys: rediskey.Keys{Prefix: "k:", SessionPrefix: "doc:"}, SessionIDFormat: config.UUIDID,
		LeaseTTL: 12 * time.Second, LeaseRenewInterval: 5 * time.Second, LeaseSafetyMargin: 3 * time.Second,
		HeartbeatTTL: 14 * time.Second, HeartbeatInterval: 6 * time.Second,
		ReconcileInterval: 7 * time.Second, KeyspaceEvents: config.EventsRequire,
		PollInterval: 100 * time.Millisecond, PollTimeout: 8 * time.Second,
		PollConcurrency: 9, HostConcurrency: 4, PollMaxBody: 3000,
		DenyTargets: nets("10.0.0.0/8", "::1/128", "169.254.0.0/16", "fe80::/10", "fd00:ec2::254/128", "192.0.2.0/24"),
		MaxSessions: 11, DrainTimeout: 15 * time.Second,
		ResultStream: "out", ResultMaxLen: 17, HTTPAddr: ":0",
		ResultSinks:      []config.ResultSink{config.SinkWebhook, config.SinkStdout},
		ResultWebhookURL: "https://h/in?k=v", ResultWebhookSecret: signing,
		APIToken: "t0ken", APIOpen: true, PProf: true, APIResource: "scenes", LogLevel: eventlog.Debug, LogFormat: eventlog.Console,
	}
	var environ []string
	for name, value := range set {
		environ = append(environ, name+"="+value)
	}
	same(t, load(t, environ...), want)

	// As flags, over an environment that says otherwise.
	flags, err := config.Load([]string{"LEASEHOLD_INSTANCE_NAME=other", "LEASEHOLD_POLL_CONCURRENCY=wrong"}, set)
	if err != nil {
		t.Fatal(err)
	}
	same(t, flags, want)
	for _, v := range config.Vars() {
		file := strings.HasSuffix(v.Name, "_FILE") // excludes the value itself
		if _, ok := set[v.Name]; !ok && !file {
			t.Errorf("this test sets no %s", v.Name)
		}
		if got := flags.Source(v.Name); got != config.Flag && !file {
			t.Errorf("%s comes from %s, want flag", v.Name, got)
		}
	}
}

func TestEachRule(t *testing.T) {
	dir := t.TempDir()
	empty := filepath.Join(dir, "empty")
	if err := os.WriteFile(empty, []byte("\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		environ string // space separated
		want    string // all faults
	}{
		{"LEASEHOLD_REDIS_URL=http://h", `LEASEHOLD_REDIS_URL="http://h": must start with redis://, rediss:// or unix://`},
		{"LEASEHOLD_REDIS_URL=localhost:6379", `LEASEHOLD_REDIS_URL="localhost:6379": must start with redis://, rediss:// or unix://`},
		{"REDIS_URL=redis://u:secret@h/x", `REDIS_URL="redis://***@h/x": must end with a database number, such as /0, and have valid options`},
		{"LEASEHOLD_REDIS_URL=redis://:6379", `LEASEHOLD_REDIS_URL="redis://:6379": must name a host, and a port from 1 to 65535 or none`},
		{"LEASEHOLD_REDIS_URL=redis://h:65536", `LEASEHOLD_REDIS_URL="redis://h:65536": must name a host, and a port from 1 to 65535 or none`},
		{"LEASEHOLD_REDIS_URL=redis://h/-1", `LEASEHOLD_REDIS_URL="redis://h/-1": must end with a database number, such as /0`},
		{"LEASEHOLD_REDIS_URL=redis://:se/cret@h", `LEASEHOLD_REDIS_URL="redis://***@h": is no URL; percent-encode special characters in user name and password`},
		{"LEASEHOLD_REDIS_URL=redis://h:12/se@cret", `LEASEHOLD_REDIS_URL="redis://***@cret": is no URL; percent-encode special characters in user name and password`},
		{"LEASEHOLD_REDIS_URL=redis://h?password=secret", `LEASEHOLD_REDIS_URL="redis://h?password=***": has an unknown option: password`},
		{"LEASEHOLD_REDIS_URL=unix://", `LEASEHOLD_REDIS_URL="unix://": must name a socket's path, such as unix:///run/redis.sock`},
		{"LEASEHOLD_REDIS_URL=redis://a,rediss://b", `LEASEHOLD_REDIS_URL="redis://a,rediss://b": several addresses are a cluster: all redis:// or all rediss://, and no database but 0`},
		{"LEASEHOLD_REDIS_URL=redis://a/1,b", `LEASEHOLD_REDIS_URL="redis://a/1,b": several addresses are a cluster: all redis:// or all rediss://, and no database but 0`},
		{"LEASEHOLD_REDIS_TIMEOUT=2", `LEASEHOLD_REDIS_TIMEOUT="2": must be a duration such as 10s, from 10ms to 8760h`},
		{"LEASEHOLD_REDIS_TIMEOUT=19s", `LEASEHOLD_REDIS_TIMEOUT="19s": LEASEHOLD_LEASE_RENEW_INTERVAL + LEASEHOLD_LEASE_SAFETY_MARGIN + LEASEHOLD_REDIS_TIMEOUT (31s) must be below LEASEHOLD_LEASE_TTL (30s)`},
		{"LEASEHOLD_REDIS_TIMEOUT=4s LEASEHOLD_HEARTBEAT_TTL=6s LEASEHOLD_HEARTBEAT_INTERVAL=2s", `LEASEHOLD_REDIS_TIMEOUT="4s": LEASEHOLD_HEARTBEAT_INTERVAL + LEASEHOLD_REDIS_TIMEOUT (6s) must be below LEASEHOLD_HEARTBEAT_TTL (6s)`},
		{"LEASEHOLD_INSTANCE_NAME=a\tb", `LEASEHOLD_INSTANCE_NAME="a\tb": must be 1 to 128 bytes of printable characters without spaces`},
		{"LEASEHOLD_INSTANCE_NAME=" + strings.Repeat("n", 129), `LEASEHOLD_INSTANCE_NAME="` + strings.Repeat("n", 129) + `": must be 1 to 128 bytes of printable characters without spaces`},
		{"LEASEHOLD_KEY_PREFIX=a{", `LEASEHOLD_KEY_PREFIX="a{": key prefix "a{" has a brace but no complete hash tag`},
		{"LEASEHOLD_SESSION_PREFIX=poll:lease:", `LEASEHOLD_SESSION_PREFIX="poll:lease:": session prefix "poll:lease:" collides with the fleet's keys "poll:lease:"`},
		{"LEASEHOLD_SESSION_ID_FORMAT=UUID", `LEASEHOLD_SESSION_ID_FORMAT="UUID": must be one of any, uuid`},
		{"LEASEHOLD_LEASE_TTL=999ms", `LEASEHOLD_LEASE_TTL="999ms": must be a duration such as 10s, from 1s to 8760h`},
		{"LEASEHOLD_LEASE_TTL=6s", `LEASEHOLD_LEASE_RENEW_INTERVAL="10s" (the default): must be at most half of LEASEHOLD_LEASE_TTL (6s), which is 3s`},
		{"LEASEHOLD_LEASE_RENEW_INTERVAL=15001ms", `LEASEHOLD_LEASE_RENEW_INTERVAL="15.001s": must be at most half of LEASEHOLD_LEASE_TTL (30s), which is 15s`},
		{"LEASEHOLD_HEARTBEAT_TTL=10s", `LEASEHOLD_HEARTBEAT_INTERVAL="10s" (the default): must be at most half of LEASEHOLD_HEARTBEAT_TTL (10s), which is 5s`},
		{"LEASEHOLD_LEASE_SAFETY_MARGIN=0", `LEASEHOLD_LEASE_SAFETY_MARGIN="0": must be a duration such as 10s, from 1ms to 8760h`},
		{"LEASEHOLD_LEASE_SAFETY_MARGIN=20s", `LEASEHOLD_LEASE_SAFETY_MARGIN="20s": LEASEHOLD_LEASE_RENEW_INTERVAL + LEASEHOLD_LEASE_SAFETY_MARGIN (30s) must be below LEASEHOLD_LEASE_TTL (30s)`},
		{"LEASEHOLD_RECONCILE_INTERVAL=-1s", `LEASEHOLD_RECONCILE_INTERVAL="-1s": must be a duration such as 10s, from 100ms to 8760h`},
		{"LEASEHOLD_KEYSPACE_EVENTS=on", `LEASEHOLD_KEYSPACE_EVENTS="on": must be one of auto, require, off`},
		{"LEASEHOLD_POLL_INTERVAL=99ms", `LEASEHOLD_POLL_INTERVAL="99ms": must be a duration such as 10s, from 100ms to 8760h`},
		{"LEASEHOLD_POLL_TIMEOUT=9000h", `LEASEHOLD_POLL_TIMEOUT="9000h": must be a duration such as 10s, from 1ms to 8760h`},
		{"LEASEHOLD_POLL_CONCURRENCY=0", `LEASEHOLD_POLL_CONCURRENCY="0": must be a whole number from 1 to 100000`},
		{"LEASEHOLD_POLL_MAX_BODY=1TiB", `LEASEHOLD_POLL_MAX_BODY="1TiB": must be a size such as 512KiB or 1MiB, from 1 byte to 1GiB`},
		{"LEASEHOLD_POLL_MAX_BODY=2GiB", `LEASEHOLD_POLL_MAX_BODY="2GiB": must be a size such as 512KiB or 1MiB, from 1 byte to 1GiB`},
		{"LEASEHOLD_DENY_TARGETS=10.0.0.0/33", `LEASEHOLD_DENY_TARGETS="10.0.0.0/33": must be none, or link-local and networks such as 10.0.0.0/8 with commas between`},
		{"LEASEHOLD_DENY_TARGETS=none,10.0.0.0/8", `LEASEHOLD_DENY_TARGETS="none,10.0.0.0/8": must be none, or link-local and networks such as 10.0.0.0/8 with commas between`},
		{"LEASEHOLD_DENY_TARGETS=10.0.0.0/8,", `LEASEHOLD_DENY_TARGETS="10.0.0.0/8,": must be none, or link-local and networks such as 10.0.0.0/8 with commas between`},
		{"LEASEHOLD_MAX_SESSIONS=-1", `LEASEHOLD_MAX_SESSIONS="-1": must be a whole number from 0 to 2147483647`},
		{"LEASEHOLD_DRAIN_TIMEOUT=soon", `LEASEHOLD_DRAIN_TIMEOUT="soon": must be a duration such as 10s, from 1ms to 8760h`},
		{"LEASEHOLD_RESULT_STREAM=poll:node:x", `LEASEHOLD_RESULT_STREAM="poll:node:x": must not be the name of a node key`},
		{"LEASEHOLD_RESULT_MAXLEN=1e5", `LEASEHOLD_RESULT_MAXLEN="1e5": must be a whole number from 1 to 9223372036854775807`},
		{"LEASEHOLD_RESULT_SINKS=stdout,file", `LEASEHOLD_RESULT_SINKS="stdout,file": must be stdout, webhook, or both with a comma between`},
		{"LEASEHOLD_RESULT_SINKS=stdout,stdout", `LEASEHOLD_RESULT_SINKS="stdout,stdout": must be stdout, webhook, or both with a comma between`},
		{"LEASEHOLD_RESULT_SINKS=webhook", `LEASEHOLD_RESULT_SINKS="webhook": webhook needs LEASEHOLD_RESULT_WEBHOOK_URL, and LEASEHOLD_RESULT_WEBHOOK_SECRET or LEASEHOLD_RESULT_WEBHOOK_SECRET_FILE`},
		{"LEASEHOLD_RESULT_SINKS=webhook LEASEHOLD_RESULT_WEBHOOK_URL=http://h", `LEASEHOLD_RESULT_SINKS="webhook": webhook needs LEASEHOLD_RESULT_WEBHOOK_URL, and LEASEHOLD_RESULT_WEBHOOK_SECRET or LEASEHOLD_RESULT_WEBHOOK_SECRET_FILE`},
		{"LEASEHOLD_RESULT_WEBHOOK_URL=ftp://u:pw@h/secret?k=secret", `LEASEHOLD_RESULT_WEBHOOK_URL="ftp://h/***": must be http:// or https://, a host, and what follows`},
		{"LEASEHOLD_RESULT_WEBHOOK_URL=http://h:secret", `LEASEHOLD_RESULT_WEBHOOK_URL="***": must be http:// or https://, a host, and what follows`},
		{"LEASEHOLD_RESULT_WEBHOOK_SECRET=whsec_c2hvcnQ=", `LEASEHOLD_RESULT_WEBHOOK_SECRET="***": must be whsec_ and the base64 of 24 to 64 bytes`},
		{"LEASEHOLD_RESULT_WEBHOOK_SECRET_FILE=" + empty, `LEASEHOLD_RESULT_WEBHOOK_SECRET_FILE="` + empty + `": must hold whsec_ and the base64 of 24 to 64 bytes`},
		{"LEASEHOLD_HTTP_ADDR=8080", `LEASEHOLD_HTTP_ADDR="8080": must be host:port with a port from 0 to 65535, or empty for no HTTP server`},
		{"LEASEHOLD_HTTP_ADDR=h:65536", `LEASEHOLD_HTTP_ADDR="h:65536": must be host:port with a port from 0 to 65535, or empty for no HTTP server`},
		{"LEASEHOLD_API_TOKEN=é", `LEASEHOLD_API_TOKEN="***": must be printable ASCII without spaces`},
		{"LEASEHOLD_API_TOKEN=a LEASEHOLD_API_TOKEN_FILE=/x", `LEASEHOLD_API_TOKEN_FILE="/x": must not be set together with LEASEHOLD_API_TOKEN`},
		{"LEASEHOLD_API_TOKEN_FILE=" + dir, `LEASEHOLD_API_TOKEN_FILE="` + dir + `": must be a readable file: is a directory`},
		{"LEASEHOLD_API_TOKEN_FILE=" + dir + "/no", `LEASEHOLD_API_TOKEN_FILE="` + dir + `/no": must be a readable file: no such file or directory`},
		{"LEASEHOLD_API_TOKEN_FILE=" + empty, `LEASEHOLD_API_TOKEN_FILE="` + empty + `": must hold one token of printable ASCII without spaces`},
		{"LEASEHOLD_API_USERS_FILE=" + dir + "/no", `LEASEHOLD_API_USERS_FILE="` + dir + `/no": must be a readable file of users: no such file or directory`},
		{"LEASEHOLD_API_USERS_FILE=" + empty, `LEASEHOLD_API_USERS_FILE="` + empty + `": must be a readable file of users: names no user`},
		{"LEASEHOLD_API_OPEN=yes", `LEASEHOLD_API_OPEN="yes": must be true or false`},
		{"LEASEHOLD_HTTP_KEY_FILE=/x", `LEASEHOLD_HTTP_KEY_FILE="/x": needs LEASEHOLD_HTTP_CERT_FILE`},
		{"LEASEHOLD_API_RESOURCE=Scenes", `LEASEHOLD_API_RESOURCE="Scenes": must be a plural of lower-case letters that ends with s, such as scenes`},
		{"LEASEHOLD_API_RESOURCE=nodes", `LEASEHOLD_API_RESOURCE="nodes": must be none of the API's own names`},
		{"LEASEHOLD_LOG_LEVEL=trace", `LEASEHOLD_LOG_LEVEL="trace": must be one of debug, info, warn, error`},
		{"LEASEHOLD_LOG_FORMAT=text", `LEASEHOLD_LOG_FORMAT="text": must be one of json, console`},
		{"LEASEHOLD_LEASE_TLL=6s", `LEASEHOLD_LEASE_TLL: is no setting; did you mean LEASEHOLD_LEASE_TTL?`},
		{"LEASEHOLD_REDIS_ULR=x", `LEASEHOLD_REDIS_ULR: is no setting; did you mean LEASEHOLD_REDIS_URL?`},
		{"LEASEHOLD_COMPLETELY_DIFFERENT=secret", `LEASEHOLD_COMPLETELY_DIFFERENT: is no setting`},
	} {
		t.Run(strings.SplitN(c.environ, "=", 2)[0], func(t *testing.T) {
			_, err := config.Load(strings.Split(c.environ, " "), nil)
			if err == nil {
				t.Fatalf("%s is accepted", c.environ)
			}
			if err.Error() != c.want {
				t.Errorf("%s gives\n%v\nwant\n%s", c.environ, err, c.want)
			}
		})
	}
}

func TestAllFaultsAreToldAtOnceInTheOrderOfTheTable(t *testing.T) {
	_, err := config.Load(
		[]string{
			"LEASEHOLD_NOPE=1", "LEASEHOLD_LOG_LEVEL=loud", "LEASEHOLD_LEASE_TTL=6s", "REDIS_URL=redis://:pw@h/x",
			"LEASEHOLD_HEARTBEAT_TTL=0",
		},
		map[string]string{"LEASEHOLD_POLL_INTERVAL": "never"},
	)
	var faults config.Faults
	if !errors.As(err, &faults) {
		t.Fatalf("%v is no Faults", err)
	}
	var got []string
	for _, f := range faults {
		got = append(got, f.Name)
	}
	want := []string{
		"REDIS_URL", "LEASEHOLD_LEASE_RENEW_INTERVAL", "LEASEHOLD_HEARTBEAT_TTL",
		"LEASEHOLD_POLL_INTERVAL", "LEASEHOLD_LOG_LEVEL", "LEASEHOLD_NOPE",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("faults of %v, want %v", got, want)
	}
	if want := `LEASEHOLD_POLL_INTERVAL="never" (from --poll-interval): must`; !strings.Contains(err.Error(), want) {
		t.Errorf("%v\nlacks %s", err, want)
	}
	if strings.Contains(err.Error(), "pw") {
		t.Errorf("the password is in %v", err)
	}
}

func TestWhatKubernetesInjectsIsNoFault(t *testing.T) {
	load(t, "LEASEHOLD_PORT=tcp://10.0.0.1:80", "LEASEHOLD_PORT_80_TCP=x", "LEASEHOLD_SERVICE_HOST=10.0.0.1", "PATH=/bin", "odd")
}

func TestEmptyMeansNotSetButWhereEmptyIsAValue(t *testing.T) {
	var environ []string
	for _, v := range config.Vars() {
		environ = append(environ, v.Name+"=")
	}
	cfg := load(t, environ...)
	want := load(t)
	want.HTTPAddr, want.ResultStream, want.DenyTargets = "", "", nil
	same(t, cfg, want)
	if cfg.Source("LEASEHOLD_HTTP_ADDR") != config.Env || cfg.Source("LEASEHOLD_LEASE_TTL") != config.Default {
		t.Error("an empty value has the wrong source")
	}
}

func TestTheOwnRedisURLGoesBeforeTheGeneralOne(t *testing.T) {
	if got := load(t, "REDIS_URL=redis://b", "LEASEHOLD_REDIS_URL=redis://a").Redis[0]; got != "redis://a" {
		t.Errorf("takes %s", got)
	}
	if got := load(t, "REDIS_URL=redis://b", "LEASEHOLD_REDIS_URL=").Redis[0]; got != "redis://b" {
		t.Errorf("takes %s", got)
	}
}

func TestAClustersFurtherAddressesShareTheFirstOnesCredentials(t *testing.T) {
	got := load(t, "LEASEHOLD_REDIS_URL=redis://u:p@a:1, b:2,redis://c:3").Redis
	want := []config.RedisURL{"redis://u:p@a:1", "redis://u:p@b:2", "redis://c:3"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%q, want %q", []string{string(got[0]), string(got[1]), string(got[2])}, want)
	}
}

// Short TTLs, as tests and the demo use them, need no more than their intervals.
func TestWhatIsNotSetFitsAnyTTL(t *testing.T) {
	for _, c := range []struct{ ttl, renew, margin, timeout time.Duration }{
		{30 * time.Second, 10 * time.Second, 2 * time.Second, 2 * time.Second},
		{6 * time.Second, 2 * time.Second, 400 * time.Millisecond, 1500 * time.Millisecond},
		{3 * time.Second, time.Second, 200 * time.Millisecond, 750 * time.Millisecond},
		{time.Second, 500 * time.Millisecond, time.Second / 15, (500*time.Millisecond - time.Second/15) / 2},
	} {
		cfg := load(t,
			fmt.Sprintf("LEASEHOLD_LEASE_TTL=%s", c.ttl), fmt.Sprintf("LEASEHOLD_HEARTBEAT_TTL=%s", c.ttl),
			fmt.Sprintf("LEASEHOLD_LEASE_RENEW_INTERVAL=%s", c.renew), fmt.Sprintf("LEASEHOLD_HEARTBEAT_INTERVAL=%s", c.renew))
		if cfg.LeaseSafetyMargin != c.margin || cfg.RedisTimeout != c.timeout {
			t.Errorf("TTL %s: margin %s and timeout %s, want %s and %s", c.ttl, cfg.LeaseSafetyMargin, cfg.RedisTimeout, c.margin, c.timeout)
		}
	}
}

func TestTheTokenCanComeFromAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(path, []byte("s3cret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := load(t, "LEASEHOLD_API_TOKEN_FILE="+path).APIToken; string(got) != "s3cret" {
		t.Error("the token is another")
	}
}

func TestTheSigningSecretCanComeFromAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(path, []byte(signing+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg := load(t, "LEASEHOLD_RESULT_SINKS=webhook", "LEASEHOLD_RESULT_WEBHOOK_URL=http://h/x", "LEASEHOLD_RESULT_WEBHOOK_SECRET_FILE="+path)
	if string(cfg.ResultWebhookSecret) != signing {
		t.Error("the secret is another")
	}
	if w := cfg.Warnings(); len(w) != 0 {
		t.Errorf("warnings %v", w)
	}
	if w := load(t, "LEASEHOLD_RESULT_WEBHOOK_URL=http://h/x").Warnings(); len(w) != 1 {
		t.Errorf("an address that nothing is sent to gives %v", w)
	}
}

func TestSecretsAreMaskedHoweverTheyArePrinted(t *testing.T) {
	cfg := load(t, "LEASEHOLD_REDIS_URL=redis://user:hunter2@h:1/0", "LEASEHOLD_API_TOKEN=hunter2",
		"LEASEHOLD_RESULT_WEBHOOK_URL=https://hunter2@h/hunter2?hunter2=hunter2", "LEASEHOLD_RESULT_WEBHOOK_SECRET="+signing)
	asJSON, err := json.Marshal(cfg)
	if err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf("%v %+v %#v %s %v %v", cfg, cfg, cfg, asJSON, cfg.Settings(), cfg.Shown())
	if strings.Contains(text, "hunter2") || strings.Contains(text, signing) {
		t.Errorf("a secret shows: %s", text)
	}
	shown := cfg.Shown()
	if shown["LEASEHOLD_REDIS_URL"] != "redis://***@h:1/0" || shown["LEASEHOLD_API_TOKEN"] != "***" || shown["LEASEHOLD_RESULT_WEBHOOK_URL"] != "https://h/***" {
		t.Errorf("shown as %v", shown)
	}
	if _, ok := shown["LEASEHOLD_API_RESOURCE"]; ok {
		t.Error("an empty setting is shown")
	}
}

func TestAShortDrainIsAWarning(t *testing.T) {
	if w := load(t).Warnings(); len(w) != 0 {
		t.Errorf("the defaults warn: %v", w)
	}
	w := load(t, "LEASEHOLD_DRAIN_TIMEOUT=5s").Warnings()
	if len(w) != 1 || !strings.HasPrefix(w[0], "LEASEHOLD_DRAIN_TIMEOUT (5s)") {
		t.Errorf("warnings %v", w)
	}
}

func TestAServerThatOthersReachIsWarnedOf(t *testing.T) {
	const open, token = "LEASEHOLD_API_OPEN=true", "LEASEHOLD_API_TOKEN=t"
	for environ, want := range map[string]string{
		"LEASEHOLD_HTTP_ADDR=:80":                                  "the API is refused there",
		"LEASEHOLD_HTTP_ADDR=0.0.0.0:80":                           "the API is refused there",
		"LEASEHOLD_HTTP_ADDR=[::]:80":                              "the API is refused there",
		"LEASEHOLD_HTTP_ADDR=node1:80":                             "the API is refused there",
		"LEASEHOLD_HTTP_ADDR=0.0.0.0:80 " + open:                   "everybody may take leases",
		"LEASEHOLD_HTTP_ADDR=0.0.0.0:80 " + token:                  "",
		"LEASEHOLD_HTTP_ADDR=0.0.0.0:80 x=y " + token + " " + open: "has no effect",
		"LEASEHOLD_HTTP_ADDR=127.0.0.2:80":                         "",
		"LEASEHOLD_HTTP_ADDR=[::1]:80":                             "",
		"LEASEHOLD_HTTP_ADDR=localhost:80":                         "",
		"LEASEHOLD_HTTP_ADDR=":                                     "",
	} {
		w := load(t, strings.Fields(environ)...).Warnings()
		if want == "" && len(w) > 0 || want != "" && (len(w) != 1 || !strings.Contains(w[0], want)) {
			t.Errorf("%s: %q, want %q", environ, w, want)
		}
	}
}

func TestFlagsAreTheNamesInKebabCase(t *testing.T) {
	flags := make(map[string]string)
	for _, v := range config.Vars() {
		flags[v.Name] = v.Flag()
	}
	if flags["LEASEHOLD_LEASE_TTL"] != "lease-ttl" || flags["LEASEHOLD_API_TOKEN_FILE"] != "api-token-file" {
		t.Errorf("flags %v", flags)
	}
	if flags["LEASEHOLD_API_TOKEN"] != "" {
		t.Error("a secret has a flag, which the list of processes would show")
	}
}

func TestDocumentationOfTheSettings(t *testing.T) {
	doctest.Section(t, "../docs/configuration.md", "settings", config.MarkdownTable())
}

func TestHelpNamesEverySetting(t *testing.T) {
	help := config.Help()
	for _, v := range config.Vars() {
		if !strings.Contains(help, v.Name) || v.Meaning == "" {
			t.Errorf("the help lacks %s", v.Name)
		}
	}
}

// Whatever is set, a Config keeps the relations, what it shows can be loaded
// again, and an error names only what was asked for, without secrets.
func FuzzLoad(f *testing.F) {
	f.Add("6s", "2s", "", "1s", "redis://u:zqzq@h/0", "poll:", "x=y")
	f.Add("1s", "500ms", "1ms", "", "redis://a,b", "{", "LEASEHOLD_X=zqzq")
	f.Add("30s", "15s", "2562047h", "2562047h", "unix://u:zqzq@/s", "session:lease:", "LEASEHOLD_API_TOKEN=zqzq")
	f.Add("8760h", "4380h", "4000h", "379h", "rediss://:zqzq/@h?x=1", "a", "REDIS_URL=zqzq")
	f.Fuzz(func(t *testing.T, ttl, renew, margin, timeout, url, prefix, more string) {
		environ := []string{
			"LEASEHOLD_LEASE_TTL=" + ttl, "LEASEHOLD_LEASE_RENEW_INTERVAL=" + renew,
			"LEASEHOLD_LEASE_SAFETY_MARGIN=" + margin, "LEASEHOLD_REDIS_TIMEOUT=" + timeout,
			"LEASEHOLD_REDIS_URL=" + url, "LEASEHOLD_KEY_PREFIX=" + prefix, more,
			"LEASEHOLD_API_TOKEN=zqzq", "LEASEHOLD_INSTANCE_NAME=n",
		}
		cfg, err := config.Load(environ, nil)
		if err != nil {
			var faults config.Faults
			if !errors.As(err, &faults) || len(faults) == 0 {
				t.Fatalf("%v is no Faults", err)
			}
			for _, fault := range faults {
				if fault.Name == "" || fault.Rule == "" {
					t.Errorf("a fault without name or rule: %+v", fault)
				}
				if fault.Name == "LEASEHOLD_API_TOKEN" && strings.Contains(fault.String(), "zqzq") {
					t.Errorf("the secret is in %s", fault)
				}
			}
			return
		}
		relationsHold(t, cfg)
		var again []string
		for _, s := range cfg.Settings() {
			value := s.Value
			switch s.Name {
			case "LEASEHOLD_REDIS_URL":
				value = strings.TrimSpace(url)
				if url == "" {
					value = string(cfg.Redis[0])
				}
			case "LEASEHOLD_API_TOKEN":
				value = string(cfg.APIToken)
			case "LEASEHOLD_RESULT_WEBHOOK_URL":
				value = string(cfg.ResultWebhookURL)
			case "LEASEHOLD_RESULT_WEBHOOK_SECRET":
				value = string(cfg.ResultWebhookSecret)
			}
			if strings.HasSuffix(s.Name, "_FILE") {
				continue
			}
			again = append(again, s.Name+"="+value)
		}
		same(t, load(t, again...), cfg)
	})
}

func relationsHold(t *testing.T, c config.Config) {
	t.Helper()
	if 2*c.LeaseRenewInterval > c.LeaseTTL || 2*c.HeartbeatInterval > c.HeartbeatTTL {
		t.Errorf("an interval is more than half of its TTL: %+v", c)
	}
	if c.LeaseSafetyMargin <= 0 || c.RedisTimeout <= 0 ||
		c.LeaseRenewInterval+c.LeaseSafetyMargin+c.RedisTimeout >= c.LeaseTTL ||
		c.HeartbeatInterval+c.RedisTimeout >= c.HeartbeatTTL {
		t.Errorf("a renewal can't be answered within its term: %+v", c)
	}
	if err := c.Keys.Validate(); err != nil {
		t.Error(err)
	}
}

func TestEachOfTwoPrefixesIsBlamedForItsOwnFault(t *testing.T) {
	_, err := config.Load([]string{"LEASEHOLD_KEY_PREFIX=x{", "LEASEHOLD_SESSION_PREFIX=" + strings.Repeat("s", 600)}, nil)
	for _, want := range []string{
		`LEASEHOLD_KEY_PREFIX="x{": key prefix "x{" has a brace but no complete hash tag`,
		`s…": session prefix has 600 bytes, more than 512`,
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	_, err = config.Load([]string{"LEASEHOLD_KEY_PREFIX=session", "LEASEHOLD_SESSION_PREFIX=sessionlease:"}, nil)
	if want := `LEASEHOLD_SESSION_PREFIX="sessionlease:": session prefix "sessionlease:" collides`; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
}
