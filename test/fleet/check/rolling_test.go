package check_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"leasehold/lease"
	"leasehold/target"
	"leasehold/test/fleet/check"
)

func ended(session, instance string, token lease.Token, from, to time.Duration) target.Record {
	return target.Record{Session: session, Instance: instance, Token: token, From: from, To: to, Status: 200}
}

func TestRollingFindsWhatCheckFindsAndForgets(t *testing.T) {
	t.Parallel()
	r := check.Rolling{Span: 10 * time.Second}
	for i := range 3600 {
		at := time.Duration(i) * time.Second
		id := fmt.Sprintf("s%d", i%7)
		r.Add(ended(id, "a", 1, at, at+100*time.Millisecond))
		if r.Kept() > 30 {
			t.Fatalf("%d polls are kept of the last %s", r.Kept(), 2*r.Span)
		}
	}
	if err := r.Verdict(3600).Err(); err != nil {
		t.Fatal(err)
	}
	if idle := r.Idle([]string{"s0", "s1", "never"}, time.Hour-8*time.Second); len(idle) != 1 || idle[0] != "never" {
		t.Errorf("idle: %v", idle)
	}
	if idle := r.Idle([]string{"s0"}, time.Hour); len(idle) != 1 {
		t.Error("a session that was polled long ago is not idle")
	}
}

func TestRollingSeesAcrossItsSpans(t *testing.T) {
	t.Parallel()
	for name, second := range map[string]target.Record{
		"overlap":   ended("s", "b", 2, 12*time.Second, 14*time.Second),
		"old token": ended("s", "a", 0, 14*time.Second, 15*time.Second),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := check.Rolling{Span: 10 * time.Second}
			r.Add(ended("x", "a", 1, 0, time.Second))
			r.Add(ended("s", "a", 1, 5*time.Second, 13*time.Second)) // a span ends before this poll does
			r.Add(ended("x", "a", 1, 13*time.Second, 13500*time.Millisecond))
			r.Add(second)
			var broken *check.Broken
			if err := r.Verdict(1).Err(); !errors.As(err, &broken) || len(broken.Verdict.Violations) != 1 {
				t.Errorf("found: %v", err)
			}
		})
	}
}

func TestRollingWithoutPollsIsNotEnough(t *testing.T) {
	t.Parallel()
	var r check.Rolling
	var few *check.NotEnough
	if err := r.Verdict(1).Err(); !errors.As(err, &few) {
		t.Errorf("got %v", err)
	}
}
