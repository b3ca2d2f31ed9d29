package main

import (
	"context"
	"time"

	"leasehold/eventlog"
	"leasehold/node"
)

// summaryEvery is how often a node says how it is, whatever happens.
const summaryEvery = time.Minute

// summarize logs how the node is until ctx ends.
func (n nodeSpec) summarize(ctx context.Context, running *node.Node) {
	ticks := time.NewTicker(summaryEvery)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
			n.log.Emit(n.summary(running.Stats()))
		}
	}
}

// summary says how the node is, and what it has done since the last one.
func (n nodeSpec) summary(s node.Stats) eventlog.NodeSummary {
	t := n.metrics.Tally()
	e := eventlog.NodeSummary{
		Leases: s.Leases, Ideal: s.Ideal, Members: s.Members, Polls: t.Polls, Failures: t.Failures, Delay: t.Delay,
		Remaining: s.Validity, Events: "ok", Heartbeat: "fresh",
	}
	if !s.Events.Healthy {
		e.Events = s.Events.Problem
	}
	if !s.Fresh {
		e.Heartbeat = "late"
	}
	return e
}
