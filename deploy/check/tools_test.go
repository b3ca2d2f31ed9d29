package check_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// run starts a tool of the system, and returns what it prints.
func run(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		path, err = filepath.Abs("../../.bin/" + name)
		if _, statErr := os.Stat(path); err != nil || statErr != nil {
			t.Skipf("this machine has no %s, and none was put into .bin", name)
		}
	}
	cmd := exec.CommandContext(t.Context(), path, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%s %v: %v\n%s", name, args, err, out)
	}
	return string(out)
}

func TestAlertsFireWhenTheyShould(t *testing.T) {
	run(t, "../prometheus", "promtool", "check", "config", "prometheus.yml")
	run(t, "../prometheus", "promtool", "test", "rules", "rules_test.yml")
}

// The unit is looked at as it will be installed: with a program and a manual page.
func TestTheUnitIsOneThatSystemdTakes(t *testing.T) {
	text := read(t, "../systemd/leasehold.service")
	program, err := exec.LookPath("true")
	if err != nil {
		t.Fatal(err)
	}
	text = strings.ReplaceAll(text, "/usr/bin/leasehold", program)
	text = strings.ReplaceAll(text, "Documentation=man:leasehold(1)\n", "")
	unit := filepath.Join(t.TempDir(), "leasehold.service")
	if err := os.WriteFile(unit, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if out := run(t, ".", "systemd-analyze", "verify", unit); strings.TrimSpace(out) != "" {
		t.Error(out)
	}
	for _, want := range []string{"Type=notify", "WatchdogSec=", "TimeoutStopSec=40", "RestartPreventExitStatus=2", "StartLimitIntervalSec=0"} {
		if !strings.Contains(text, "\n"+want) {
			t.Errorf("no %s", want)
		}
	}
}
