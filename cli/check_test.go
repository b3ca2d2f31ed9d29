package cli_test

import (
	"encoding/json"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"leasehold/lease"
)

// check runs a check that ends with the code.
func (b *bench) check(code int, args ...string) string {
	b.t.Helper()
	got := b.run(append([]string{"check"}, args...)...)
	if got.code != code || got.stderr != "" {
		b.t.Errorf("%v: want exit %d: %+v", args, code, got)
	}
	return got.stdout
}

func TestACheckIsWhatTheStatusSays(t *testing.T) {
	b := newBench(t)
	b.check(2)
	b.check(0, "--min-nodes", "0")
	first := b.node("a")
	b.sessions("s1", "s2", "s3", "t1", "t2")
	grants := b.lease(first, "s1", "s2", "s3", "t1", "t2")
	b.poll(grants[0], lease.Result{Class: "timeout", Failures: 1, RetryAt: time.Now().Add(time.Second)})
	b.put("bad", `{`)
	want := "LEASEHOLD OK - 4 of 6 sessions polled well by 1 nodes | nodes=1;;1:;0 sessions=6;;;0 unleased=0;;0;0 barred=0;;0;0 overdue=0;0;;0 failing=1;1;;0 invalid=1;;;0 paused=0;;;0 spread=0;;;0\n"
	if got := b.check(0); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	b.check(1, "--failing-warn", "1")
	b.check(2, "--failing-warn", "1", "--invalid-crit", "1")
	b.check(2, "--min-nodes", "2")
	b.sessions("s4") // nobody has it
	if _, code := b.status(); code != 1 {
		t.Error("healthy")
	}
	if got := b.check(2); !strings.HasPrefix(got, "LEASEHOLD CRITICAL - 1 sessions unleased | ") || !strings.Contains(got, " unleased=1;;0;0 ") {
		t.Errorf("%q", got)
	}
	b.check(1, "--unleased-warn", "1", "--unleased-crit", "2")
	b.check(0, "--unleased-crit", "0")
	b.rdb.Del(t.Context(), b.keys.Session("s4"))
	b.lease("b-1764288000123456789-0000000b", "s5") // without a heartbeat
	b.sessions("s5")
	b.check(2)
	b.rdb.Del(t.Context(), b.keys.Session("s5"))
	// Long due: the state says when it was.
	b.rdb.HSet(t.Context(), b.keys.State("s2"), "due", time.Now().Add(-time.Minute).UnixMilli())
	if _, code := b.status(); code != 1 {
		t.Fatal("the status knows of nothing overdue")
	}
	b.check(1)
	b.check(2, "--overdue-crit", "1")
	b.check(0, "--overdue-warn", "2")
}

// As the alert LeaseholdSessionsFailing has it.
func TestACheckWarnsWhereMoreThanAFifthFails(t *testing.T) {
	b := newBench(t)
	ids := []string{"s1", "s2", "s3", "s4", "s5"}
	b.sessions(ids...)
	grants := b.lease(b.node("a"), ids...)
	failing := lease.Result{Class: "timeout", Failures: 1, RetryAt: time.Now().Add(time.Minute)}
	b.poll(grants[0], failing)
	for _, id := range []string{"p1", "p2", "p3", "p4", "p5", "p6"} { // they are no excuse
		b.put(id, `{"kind":"log","paused":true}`)
	}
	b.check(0)
	b.poll(grants[1], failing)
	if got := b.check(1); !strings.HasPrefix(got, "LEASEHOLD WARNING - 2 of 5 sessions failing | ") || !strings.Contains(got, " failing=2;1;;0 ") {
		t.Errorf("%q", got)
	}
	b.check(0, "--failing-warn", "3")
	b.check(0, "--failing-warn", "0")
	b.check(2, "--failing-crit", "2")
	if got := b.check(1, "--failing-warn", "2"); !strings.Contains(got, "WARNING - 2 sessions failing |") {
		t.Errorf("%q", got)
	}
}

func TestACheckForMachines(t *testing.T) {
	b := newBench(t)
	first := b.node("a")
	b.sessions("s1", "s2")
	b.lease(first, "s1")
	var v struct {
		Level    string         `json:"level"`
		ExitCode int            `json:"exit_code"`
		Reasons  []string       `json:"reasons"`
		Healthy  bool           `json:"healthy"`
		Members  int            `json:"members"`
		States   map[string]int `json:"states"`
	}
	text := b.check(2, "--format", "json")
	if err := json.Unmarshal([]byte(text), &v); err != nil || v.Level != "CRITICAL" || v.ExitCode != 2 || v.Healthy ||
		v.Members != 1 || v.States["unleased"] != 1 || v.States["ok"] != 1 || !slices.Equal(v.Reasons, []string{"1 sessions unleased"}) {
		t.Errorf("%v: %s", err, text)
	}
	text = b.check(2, "--format", "prometheus")
	if problems, err := promlint.New(strings.NewReader(text)).Lint(); err != nil || len(problems) > 0 {
		t.Errorf("%v: %v", problems, err)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if got := families["leasehold_check_level"].GetMetric()[0].GetGauge().GetValue(); got != 2 {
		t.Errorf("level %v", got)
	}
	states := families["leasehold_check_sessions"].GetMetric()
	for _, m := range states {
		if want := float64(v.States[m.GetLabel()[0].GetValue()]); m.GetGauge().GetValue() != want {
			t.Errorf("%v, want %v", m, want)
		}
	}
	if len(states) != len(v.States) {
		t.Errorf("%d states", len(states))
	}
}

func TestACheckThatKnowsNothing(t *testing.T) {
	b := newBench(t)
	for _, args := range [][]string{
		{"--nope"}, {"extra"}, {"--format", "xml"}, {"--min-nodes", "-1"}, {"--min-nodes", "x"}, {"--lease-ttl", "x"}, {"--timeout", "1ns"},
	} {
		if got := b.check(3, args...); !strings.HasPrefix(got, "LEASEHOLD UNKNOWN - ") || strings.Count(got, "\n") != 1 {
			t.Errorf("%v: %q", args, got)
		}
	}
	for args, want := range map[string]string{"--overdue-crit=-2": "--overdue-crit=-2: must not be negative", "--timeout=0s": "--timeout=0s: must be above 0"} {
		if got := b.check(3, args); !strings.Contains(got, want) {
			t.Errorf("%s: %q", args, got)
		}
	}
	b.env = []string{"LEASEHOLD_REDIS_URL=redis://user:s3cret@127.0.0.1:1/0"}
	if got := b.check(3); !strings.Contains(got, "connection refused") || strings.Contains(got, "s3cret") {
		t.Errorf("%q", got)
	}
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = silent.Close() })
	b.env = []string{"LEASEHOLD_REDIS_URL=redis://" + silent.Addr().String() + "/0"}
	b.check(3, "--timeout", "300ms")
}

func TestACheckIsCriticalWhereAKeyOfAnotherTypeBarsASession(t *testing.T) {
	b := newBench(t)
	first := b.node("a")
	b.sessions("s1", "s2")
	b.lease(first, "s1")
	b.rdb.Set(t.Context(), b.keys.State("s2"), "x", 0)
	if got := b.run("status"); got.code != 1 || !strings.Contains(got.stdout, "1 of 2 sessions is barred by a key of another type") {
		t.Errorf("%+v", got)
	}
	if got := b.run("check"); got.code != 2 || !strings.Contains(got.stdout, "LEASEHOLD CRITICAL - 1 sessions barred") {
		t.Errorf("%+v", got)
	}
}
