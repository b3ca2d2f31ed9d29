package main

import (
	"testing"
	"time"

	"leasehold/eventlog"
	"leasehold/metrics"
	"leasehold/node"
	"leasehold/redisevents"
)

func TestASummarySaysHowTheNodeIs(t *testing.T) {
	n := nodeSpec{metrics: metrics.New(metrics.Build{})}
	for _, e := range []eventlog.Event{
		eventlog.PollStarted{Delay: 12 * time.Millisecond}, eventlog.PollSucceeded{}, eventlog.PollFailed{Class: "timeout"},
	} {
		n.metrics.Observe(e)
	}
	s := node.Stats{Leases: 3, Ideal: 4, Members: 2, Validity: time.Second, Fresh: true, Events: redisevents.Status{Healthy: true}}
	want := eventlog.NodeSummary{
		Leases: 3, Ideal: 4, Members: 2, Polls: 2, Failures: 1, Delay: 12 * time.Millisecond, Remaining: time.Second, Events: "ok", Heartbeat: "fresh",
	}
	if got := n.summary(s); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	s.Fresh, s.Events = false, redisevents.Status{Problem: "flags"}
	want.Polls, want.Failures, want.Delay = 0, 0, 0
	want.Events, want.Heartbeat = "flags", "late"
	if got := n.summary(s); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}
