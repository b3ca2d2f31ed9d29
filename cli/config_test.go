package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"leasehold/config"
)

// settings is a bench without a Redis.
func settings(t *testing.T, environ ...string) *bench {
	t.Helper()
	return &bench{t: t, env: environ}
}

func TestSettingsAreShownWithTheirSourceAndNoSecret(t *testing.T) {
	b := settings(t, "LEASEHOLD_REDIS_URL=redis://me:hunter2@h/1", "LEASEHOLD_API_TOKEN=hunter2", "LEASEHOLD_HEARTBEAT_TTL=50s")
	type setting struct{ Name, Value, Source string }
	for _, args := range [][]string{{"config", "--lease-ttl", "40s"}, {"config", "show", "--lease-ttl=40s"}} {
		all := list[setting](b, args...)
		if len(all) != len(config.Vars()) {
			t.Fatalf("%d settings", len(all))
		}
		for _, s := range all {
			want := map[string]setting{
				"LEASEHOLD_LEASE_TTL":     {Value: "40s", Source: "flag"},
				"LEASEHOLD_HEARTBEAT_TTL": {Value: "50s", Source: "env"},
				"LEASEHOLD_REDIS_URL":     {Value: "redis://***@h/1", Source: "env"},
				"LEASEHOLD_API_TOKEN":     {Value: "***", Source: "env"},
				"LEASEHOLD_POLL_INTERVAL": {Value: "10s", Source: "default"},
			}[s.Name]
			if want.Name = s.Name; want.Value != "" && s != want {
				t.Errorf("%+v, want %+v", s, want)
			}
		}
	}
	for _, args := range []string{"config", "config show", "config show -o yaml", "config env", "config validate"} {
		if got := b.ok(strings.Fields(args)...); strings.Contains(got, "hunter2") || got == "" {
			t.Errorf("%s: %s", args, got)
		}
	}
	env := b.ok("config", "env", "--key-prefix", "it's me:")
	if !strings.Contains(env, "\nLEASEHOLD_HEARTBEAT_TTL=50s\n") || !strings.Contains(env, `LEASEHOLD_KEY_PREFIX='it'\''s me:'`+"\n") {
		t.Error(env)
	}
}

func TestSettingsAreValidated(t *testing.T) {
	b := settings(t, "LEASEHOLD_REDIS_URL=redis://me:hunter2@h/x", "LEASEHOLD_NOPE=1")
	for _, args := range [][]string{{"config"}, {"config", "env"}, {"config", "validate"}, {"status"}, {"sessions", "rm", "x"}} {
		got := b.run(append(args, "--lease-ttl", "6s")...)
		if got.code != 2 || got.stdout != "" || strings.Contains(got.stderr, "hunter2") {
			t.Errorf("%v: %+v", args, got)
		}
		for _, name := range []string{"LEASEHOLD_REDIS_URL", "LEASEHOLD_NOPE", "LEASEHOLD_LEASE_RENEW_INTERVAL"} {
			if !strings.Contains(got.stderr, name) {
				t.Errorf("%v does not tell of %s: %s", args, name, got.stderr)
			}
		}
	}
	got := settings(t, "LEASEHOLD_DRAIN_TIMEOUT=1s").run("config", "validate")
	if got.code != 0 || !strings.Contains(got.stderr, "LEASEHOLD_DRAIN_TIMEOUT (1s)") {
		t.Errorf("%+v", got)
	}
}

func TestManualPages(t *testing.T) {
	b := settings(t)
	for _, line := range []string{"man", "man sessions add"} {
		if got := b.ok(strings.Fields(line)...); strings.Contains(got, "0001") || strings.Contains(got, "cobra") {
			t.Errorf("%s: %s", line, got)
		}
	}
	if got := b.ok("man", "sessions", "add"); !strings.HasPrefix(got, ".nh\n.TH") || !strings.Contains(got, "dry-run") {
		t.Errorf("%.200s", got)
	}
	b.fails(2, `there is no command "nope"`, "man", "nope")
	dir := t.TempDir()
	b.ok("man", "--dir", dir)
	if _, err := os.Stat(filepath.Join(dir, "leasehold-sessions-add.1")); err != nil {
		t.Error(err)
	}
	b.fails(1, "no such file", "man", "--dir", filepath.Join(dir, "nope"))
}
