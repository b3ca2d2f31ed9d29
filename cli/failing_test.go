package cli_test

import (
	"regexp"
	"slices"
	"testing"
	"time"

	"leasehold/lease"
)

const refused = "dial tcp 10.0.0.7:80: connect: connection refused"

func TestWhyASessionFailsIsSaid(t *testing.T) {
	b := newBench(t)
	b.sessions("s1", "s2", "s3")
	grants := b.lease(b.node("a"), "s1", "s2", "s3")
	retry := time.Now().Add(time.Minute)
	b.poll(grants[0], lease.Result{Class: "connect_error", Error: refused, Failures: 3, RetryAt: retry})
	b.poll(grants[1], lease.Result{Class: "timeout", Failures: 1, RetryAt: retry})
	b.poll(grants[2], lease.Result{OK: true, Class: "success", Status: 200})
	for id, want := range map[string]string{
		"s1": "its last 3 polls failed: connect_error: " + refused,
		"s2": "its last poll failed: timeout",
	} {
		if got := one[explainReply](b, "explain", id); !slices.Contains(got.Obstacles, want) {
			t.Errorf("%q, want %q", got.Obstacles, want)
		}
	}
	rows := b.ok("sessions", "ls", "-o", "wide")
	for _, want := range []string{`s1 .* connect_error: ` + refused, `s2 .* timeout`, `s3 .* -`} {
		if !regexp.MustCompile(`(?m)^` + want + `$`).MatchString(rows) {
			t.Errorf("%s, want %s", rows, want)
		}
	}
	if got := list[sessionReply](b, "sessions", "ls"); got[0].Problem != "" { // it can be used
		t.Errorf("%+v", got[0])
	}
}
