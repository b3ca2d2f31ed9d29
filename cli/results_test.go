package cli_test

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"leasehold/lease"
	"leasehold/results"
)

func TestResultsAreThoseOfTheStream(t *testing.T) {
	b := newBench(t)
	b.put("s1", `{"kind":"log"}`)
	b.put("s2", `{"kind":"log"}`)
	grants := b.lease(b.node("a"), "s1", "s2")
	put := func(g lease.Grant, status int) {
		r := lease.Result{OK: status == 200, Class: "success", Status: status}
		m := results.Encode(g, r)
		err := b.rdb.XAdd(t.Context(), streamArgs(g.Session, string(m.JSON))).Err()
		if err != nil {
			t.Fatal(err)
		}
	}
	for i := range 30 {
		put(grants[i%2], 200+i)
	}
	b.rdb.XAdd(t.Context(), streamArgs("s1", "nonsense"))
	statuses := func(args ...string) string {
		var all []string
		for line := range strings.Lines(b.ok(append([]string{"sessions", "results", "-o", "jsonl"}, args...)...)) {
			var e results.Event
			if err := json.Unmarshal([]byte(line), &e); err != nil || e.Data.Session != args[0] {
				t.Fatalf("%s: %v", line, err)
			}
			all = append(all, strconv.Itoa(e.Data.Status))
		}
		return strings.Join(all, " ")
	}
	if got := statuses("s1"); got != "228 226 224 222 220 218 216 214 212 210" {
		t.Error(got)
	}
	if got := statuses("s2", "--limit", "2"); got != "229 227" {
		t.Error(got)
	}
	if got := statuses("s1", "--within", "5"); got != "228 226" {
		t.Error(got)
	}
	if got := b.ok("sessions", "results", "s1"); strings.Count(got, "\n") != 11 || !strings.HasPrefix(got, "TIME") {
		t.Error(got)
	}
	b.put("s3", `{"kind":"log"}`)
	got := b.run("sessions", "results", "s3", "-o", "json")
	if got.code != 0 || got.stdout != "[]\n" || !strings.Contains(got.stderr, "no result among the latest") {
		t.Errorf("%+v", got)
	}
	b.fails(1, "no session", "sessions", "results", "nope")
	b.fails(2, "at least 1", "sessions", "results", "s1", "--limit", "0")
	b.env = append(b.env, "LEASEHOLD_RESULT_STREAM=")
	b.fails(1, "LEASEHOLD_RESULT_STREAM is empty", "sessions", "results", "s1")
}
