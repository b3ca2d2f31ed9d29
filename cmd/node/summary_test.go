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
	n.metrics.Observe(eventlog.PollSucceeded{})
	s := node.Stats{Leases: 3, Ideal: 4, Members: 2, Validity: time.Second, Fresh: true, Events: redisevents.Status{Healthy: true}}
	want := eventlog.NodeSummary{
		Leases: 3, Ideal: 4, Members: 2, Polls: 1, Remaining: time.Second, Events: "ok", Heartbeat: "fresh",
	}
	if got := n.summary(s); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	s.Fresh, s.Events = false, redisevents.Status{Problem: "flags"}
	want.Polls, want.Events, want.Heartbeat = 0, "flags", "late"
	if got := n.summary(s); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}
