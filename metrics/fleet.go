package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"leasehold/eventlog"
)

// fleetMetrics are about the fleet, its documents, and what the node hears of them.
type fleetMetrics struct {
	members    counters
	sessions   counters
	foreign    prometheus.Counter
	subscribed prometheus.Counter
	gaps       prometheus.Counter
	refusals   prometheus.Counter
	repairs    counters
	failures   prometheus.Counter
	outages    prometheus.Counter
	fencings   prometheus.Counter
	heldOff    prometheus.Counter
}

func (mk maker) fleet() fleetMetrics {
	return fleetMetrics{
		members: mk.counters("member_changes_total", "Other nodes that joined, left, or whose heartbeat ran out, as this node saw it.",
			"change", "joined", "left", "expired"),
		sessions: mk.counters("session_changes_total", "Documents that came, changed, went, or can not be used, as this node saw it.",
			"change", "added", "changed", "removed", "invalid"),
		foreign:    mk.counter("foreign_keys_total", "Reports of keys under the fleet's prefixes that are not the fleet's; one a minute for each key."),
		subscribed: mk.counter("events_subscriptions_total", "Subscriptions to keyspace events that succeeded."),
		gaps:       mk.counter("events_gaps_total", "Times that keyspace events may have been missed; each is followed by a full look."),
		refusals:   mk.counter("events_refusals_total", "Times that Redis refused flags or channels of keyspace events."),
		repairs: mk.counters("reconcile_repairs_total", "What the scan found although no event had told of it, by kind.",
			"kind", "lease", "session", "state"),
		failures: mk.counter("actor_failures_total", "Panics in actors, or in requests to the API."),
		outages:  mk.counter("redis_outages_total", "Outages of Redis, by a heartbeat without an answer."),
		fencings: mk.counter("fencings_total", "Times that the node's heartbeat was not accepted in time, so that it claimed nothing."),
		heldOff:  mk.counter("claims_held_off_total", "Times that sessions of others were left alone for a while, since Redis may have lost data."),
	}
}

func (m *fleetMetrics) observe(e eventlog.Event) bool {
	switch e := e.(type) {
	case eventlog.MemberJoined:
		m.members.inc("joined")
	case eventlog.MemberLeft:
		m.members.inc("left")
	case eventlog.MemberExpired:
		m.members.inc("expired")
	case eventlog.SessionAdded:
		m.sessions.inc("added")
	case eventlog.SessionChanged:
		m.sessions.inc("changed")
	case eventlog.SessionRemoved:
		m.sessions.inc("removed")
	case eventlog.SessionInvalid:
		m.sessions.inc("invalid")
	case eventlog.KeyForeign:
		m.foreign.Inc()
	case eventlog.ReconcileRepaired:
		m.repairs.of(e.Kind).Add(float64(e.Count))
	default:
		return m.observeNode(e)
	}
	return true
}

func (m *fleetMetrics) observeNode(e eventlog.Event) bool {
	switch e.(type) {
	case eventlog.EventsSubscribed:
		m.subscribed.Inc()
	case eventlog.EventsLost:
		m.gaps.Inc()
	case eventlog.EventsDisabled:
		m.refusals.Inc()
	case eventlog.ActorFailed:
		m.failures.Inc()
	case eventlog.RedisDown:
		m.outages.Inc()
	case eventlog.NodeFenced:
		m.fencings.Inc()
	case eventlog.ClaimsHeldOff:
		m.heldOff.Inc()
	default:
		return false
	}
	return true
}
