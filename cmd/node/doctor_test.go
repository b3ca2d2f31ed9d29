package main

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"strings"
	"testing"

	"leasehold/doctor"
	"leasehold/internal/redistest"
)

func TestDoctorsExitCodeIsTheWorstFinding(t *testing.T) {
	s := redistest.StartServer(t, "--appendonly", "yes", "--notify-keyspace-events", "KEgx$e")
	admin := s.Client()
	defer func() { _ = admin.Close() }()
	environ := []string{"LEASEHOLD_REDIS_URL=" + s.URL()}
	for _, c := range []struct {
		setting, value string
		code           exitCode
		want           string
	}{
		{"hz", "10", exitOK, "\nok  "},
		{"hz", "1", exitWarnings, "\nwarning  hz "},
		{"maxmemory-policy", "volatile-lru", exitUnsafe, "\nunsafe   memory "},
	} {
		if err := admin.ConfigSet(t.Context(), c.setting, c.value).Err(); err != nil {
			t.Fatal(err)
		}
		got := execute(environ, "doctor")
		if got.code != c.code || !strings.Contains(got.stdout, c.want) || got.stderr != "" {
			t.Errorf("%s %s: %+v", c.setting, c.value, got)
		}
	}
	var report doctor.Report
	got := execute(environ, "doctor", "-o", "json")
	if err := json.Unmarshal([]byte(got.stdout), &report); err != nil || report.Worst() != doctor.Unsafe || got.code != exitUnsafe {
		t.Errorf("%v: %+v", err, got)
	}
}

func TestDoctorSaysWhatHelpsWhereNothingAnswers(t *testing.T) {
	s := redistest.StartServer(t, "--requirepass", "right")
	got := execute([]string{"LEASEHOLD_REDIS_URL=redis://:hunter2@" + s.Addr()}, "doctor")
	if got.code != exitUnsafe || !strings.Contains(got.stdout, "fix: Set LEASEHOLD_REDIS_URL with USER:PASSWORD@ before the host") || strings.Contains(got.stdout+got.stderr, "hunter2") {
		t.Errorf("%+v", got)
	}
	for args, want := range map[string]string{"doctor -o yaml": "must be text or json", "doctor x": "takes no arguments", "doctor --lease-ttl=1": "settings can not be used"} {
		if got := execute(nil, strings.Fields(args)...); got.code != exitUsage || !strings.Contains(got.stderr, want) {
			t.Errorf("%s: %+v", args, got)
		}
	}
}

// A look can take a minute where the server stops answering in the middle.
func TestDoctorEndsWithTheFirstSignal(t *testing.T) {
	s := redistest.StartServer(t)
	admin := s.Client()
	defer func() { _ = admin.Close() }()
	signals := make(chan os.Signal, 1)
	var stderr bytes.Buffer
	a := &app{environ: []string{"LEASEHOLD_REDIS_URL=" + s.URL()}, stdout: io.Discard, stderr: &stderr, signals: signals}
	signals <- os.Interrupt
	if err := admin.Do(t.Context(), "CLIENT", "PAUSE", "5000", "ALL").Err(); err != nil {
		t.Fatal(err)
	}
	if code := a.run([]string{"doctor"}); code != exitForced || stderr.String() != "leasehold: interrupted\n" {
		t.Errorf("exit %d: %s", code, &stderr)
	}
}
