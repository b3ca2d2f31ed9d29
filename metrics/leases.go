package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"leasehold/eventlog"
)

// What may come of an attempt to acquire a lease.
const (
	acquired = "acquired"
	held     = "held"
	failed   = "failed"
)

// triggers returns what leads to a claim.
func triggers() []string { return []string{"plan", "event", "timer", "scan", "fallback", "api"} }

// leaseMetrics are about the leases of sessions.
type leaseMetrics struct {
	acquisitions map[string]counters // by trigger, then result
	unprompted   counters            // acquisitions of no known trigger
	takeover     histograms
	hold         prometheus.Histogram
	renewals     counters
	releases     counters
	losses       counters
}

func (mk maker) leases() leaseMetrics {
	m := leaseMetrics{
		acquisitions: make(map[string]counters),
		takeover: mk.histograms("lease_takeover_seconds",
			"Time from the end of a lease, by its deadline or its release, to its acquisition by this node, by what led to the claim.",
			upToAMinute(), "trigger", triggers()...),
		hold: mk.histogram("lease_hold_seconds", "For how long this node had the leases that ended.",
			[]float64{1, 10, 60, 300, 900, 3600, 4 * 3600, 24 * 3600, 7 * 24 * 3600}),
		renewals: mk.counters("lease_renewals_total",
			"Renewals of leases: renewed; unanswered, once for each outage of a lease; api, renewed by a worker through this node's API.",
			"result", "renewed", "unanswered", "api"),
		releases: mk.counters("lease_releases_total",
			"Leases given back, by reason. api: by a worker through this node's API, or taken from one.",
			"reason", "shutdown", "rebalance", "paused", "deleted", "failure", "api"),
		losses: mk.counters("lease_losses_total",
			"Leases that ended without having been given back. expired: the trust in them ran out, or the release had no answer; "+
				"taken: another has the lease; gone: its key is not there.",
			"reason", "expired", "taken", "gone"),
	}
	vec := mk.counterVec("lease_acquisitions_total",
		"Attempts to acquire a lease, by what led to the attempt and its result. held: another has the lease; failed: no answer, or the key is not the fleet's.",
		"trigger", "result")
	of := func(trigger string) counters {
		return counted(vec.MustCurryWith(prometheus.Labels{"trigger": trigger}), acquired, held, failed)
	}
	for _, t := range triggers() {
		m.acquisitions[t] = of(t)
	}
	m.unprompted = of(other)
	return m
}

func (m *leaseMetrics) observe(e eventlog.Event) bool {
	switch e := e.(type) {
	case eventlog.LeaseRenewed:
		m.renewals.inc(renewedBy(e))
	case eventlog.LeaseRenewFailed:
		m.renewals.inc("unanswered")
	case eventlog.LeaseAcquired:
		m.tried(e.Trigger).inc(acquired)
		if e.Takeover >= 0 {
			m.takeover.of(e.Trigger).Observe(seconds(e.Takeover))
		}
	case eventlog.LeaseAcquireFailed:
		if e.Trigger != "" { // else nothing was claimed
			m.tried(e.Trigger).inc(resultOf(e))
		}
	case eventlog.LeaseReleased:
		m.releases.inc(e.Reason)
		m.held(e.Held)
	case eventlog.LeaseExpired:
		m.losses.inc("expired")
		m.held(e.Held)
	case eventlog.LeaseLost:
		m.losses.inc(lossOf(e))
		m.held(e.Held)
	default:
		return false
	}
	return true
}

func (m *leaseMetrics) tried(trigger string) counters {
	if c, ok := m.acquisitions[trigger]; ok {
		return c
	}
	return m.unprompted
}

func (m *leaseMetrics) held(d time.Duration) {
	if d > 0 { // else it was not this node's
		m.hold.Observe(seconds(d))
	}
}

func renewedBy(e eventlog.LeaseRenewed) string {
	if e.Holder != "" {
		return "api"
	}
	return "renewed"
}

func resultOf(e eventlog.LeaseAcquireFailed) string {
	if e.Err != nil {
		return failed
	}
	return held
}

func lossOf(e eventlog.LeaseLost) string {
	if e.Holder != "" {
		return "taken"
	}
	return "gone"
}

func seconds(d time.Duration) float64 { return d.Seconds() }
