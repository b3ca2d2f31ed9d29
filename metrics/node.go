package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"leasehold/node"
	"leasehold/results"
)

// Node is what the metrics read when they are asked; [node.Node] is one.
type Node interface{ Stats() node.Stats }

// reading is what one scrape found.
type reading struct {
	node    node.Stats
	results results.Stats
	pool    *redis.PoolStats
	now     time.Time
}

// gauge is one value of a reading.
type gauge struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
	get  func(reading) float64
	tags []string // the labels' values
}

// nodeCollector reads the node, its sinks and its client at each scrape.
type nodeCollector struct {
	node    Node
	results *results.Hub
	client  redis.UniversalClient
	gauges  []gauge
	sinks   sinkMetrics
}

// WatchNode has the node read at each scrape, and with it the sinks of its results and
// the pool of its client. Both may be nil. Call it once.
func (m *Metrics) WatchNode(n Node, hub *results.Hub, client redis.UniversalClient) {
	if m == nil {
		return
	}
	c := &nodeCollector{node: n, results: hub, client: client, sinks: newSinkMetrics()}
	c.gauges = append(append(fleetGauges(), ownGauges()...), poolGauges()...)
	m.registry.MustRegister(c)
}

// Describe implements [prometheus.Collector].
func (c *nodeCollector) Describe(to chan<- *prometheus.Desc) {
	for _, g := range c.gauges {
		to <- g.desc
	}
	c.sinks.describe(to)
}

// Collect implements [prometheus.Collector].
func (c *nodeCollector) Collect(to chan<- prometheus.Metric) {
	r := reading{node: c.node.Stats(), results: c.results.Stats(), pool: &redis.PoolStats{}, now: time.Now()}
	if c.client != nil {
		r.pool = c.client.PoolStats()
	}
	for _, g := range c.gauges {
		to <- prometheus.MustNewConstMetric(g.desc, g.kind, g.get(r), g.tags...)
	}
	c.sinks.collect(r.results, to)
}

func value(name, help string, get func(reading) float64) gauge {
	return gauge{desc: describe(name, help), kind: prometheus.GaugeValue, get: get}
}

func count(name, help string, get func(reading) float64) gauge {
	return gauge{desc: describe(name, help), kind: prometheus.CounterValue, get: get}
}

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(prefix+name, help, labels, nil)
}

func flag(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// fleetGauges are about the fleet as this node knows it.
func fleetGauges() []gauge {
	states := describe("sessions", "Session documents, by what this node knows of them. ok, failing: its own, by their last poll; elsewhere: another's; "+
		"unleased: found free by the last look at the lease; paused, external, invalid: polled by no node.", "state")
	state := func(name string, get func(reading) int) gauge {
		return gauge{
			desc: states, kind: prometheus.GaugeValue, tags: []string{name},
			get: func(r reading) float64 { return float64(get(r)) },
		}
	}
	return []gauge{
		value("members", "Nodes that live, this one included.", func(r reading) float64 { return float64(r.node.Members) }),
		state("ok", func(r reading) int { return max(0, r.node.Known.Owned-r.node.Failing) }),
		state("failing", func(r reading) int { return min(r.node.Failing, r.node.Known.Owned) }),
		state("elsewhere", func(r reading) int { return r.node.Known.Elsewhere }),
		state("unleased", func(r reading) int { return r.node.Known.Unleased }),
		state("paused", func(r reading) int { return r.node.Known.Paused }),
		state("external", func(r reading) int { return r.node.Known.External }),
		state("invalid", func(r reading) int { return r.node.Known.Invalid }),
		value("session_unleased_longest_seconds",
			"For how long the longest of the sessions is free that this node's last look found without a holder; 0: none is.",
			func(r reading) float64 {
				if r.node.Known.FreeSince.IsZero() {
					return 0
				}
				return seconds(r.now.Sub(r.node.Known.FreeSince))
			}),
		count("session_unleased_seconds_total",
			"Time that sessions were free, summed over those that this node's looks at leases found so. Every node counts for itself: take the maximum.",
			func(r reading) float64 { return seconds(r.node.Known.Free) }),
		value("sessions_overdue",
			"Sessions of other nodes that were not polled for more than two of their intervals, among those that this node looked at lately: "+
				"up to 500 in each reconcile interval, in turn. What a worker has leased is not counted.",
			func(r reading) float64 { return float64(r.node.Overdue) }),
	}
}

// ownGauges are about this node.
func ownGauges() []gauge {
	return []gauge{
		value("leases_owned", "Sessions that this node holds.", func(r reading) float64 { return float64(r.node.Leases) }),
		value("leases_ideal", "Sessions that this node should hold by its last plan.", func(r reading) float64 { return float64(r.node.Ideal) }),
		value("lease_validity_shortest_seconds", "The least trust that is left in a lease of this node; 0 without leases.",
			func(r reading) float64 { return seconds(r.node.Validity) }),
		value("polls_in_flight", "Polls in flight.", func(r reading) float64 { return float64(r.node.InFlight) }),
		value("polls_in_flight_limit", "Polls that may be in flight at once.", func(r reading) float64 { return float64(r.node.Concurrency) }),
		value("events_healthy", "1 if keyspace events can be relied on, 0 if only the scan finds what happens.",
			func(r reading) float64 { return flag(r.node.Events.Healthy) }),
		value("events_queued", "Keyspace events that wait to be handled.", func(r reading) float64 { return float64(r.node.Events.Queued) }),
		value("heartbeat_fresh", "1 if the node's heartbeat can be trusted.", func(r reading) float64 { return flag(r.node.Fresh) }),
		value("actors", "Actors that live.", func(r reading) float64 { return float64(r.node.Actors) }),
		count("actor_restarts_total", "Times that the pair at the root of the actors was made anew after a failure.",
			func(r reading) float64 { return float64(r.node.Restarts) }),
		count("results_recorded_total", "Results that Redis took.", func(r reading) float64 { return float64(r.results.Recorded) }),
	}
}

// poolGauges are about the connections of the client, the event subscription's aside.
func poolGauges() []gauge {
	return []gauge{
		value("redis_pool_connections", "Connections to Redis in the pool.", func(r reading) float64 { return float64(r.pool.TotalConns) }),
		value("redis_pool_idle_connections", "Connections to Redis that nobody uses.", func(r reading) float64 { return float64(r.pool.IdleConns) }),
		count("redis_pool_hits_total", "Times that a free connection was in the pool.", func(r reading) float64 { return float64(r.pool.Hits) }),
		count("redis_pool_misses_total", "Times that none was.", func(r reading) float64 { return float64(r.pool.Misses) }),
		count("redis_pool_timeouts_total", "Times that the wait for a connection was given up.", func(r reading) float64 { return float64(r.pool.Timeouts) }),
		count("redis_pool_stale_connections_total", "Connections that were removed since they were of no use any more.",
			func(r reading) float64 { return float64(r.pool.StaleConns) }),
	}
}

// sinkMetrics are about the sinks of results; a node has each kind at most once.
type sinkMetrics struct{ sent, dropped, queued *prometheus.Desc }

func newSinkMetrics() sinkMetrics {
	return sinkMetrics{
		sent:    describe("results_sent_total", "Results that a sink took, by sink.", "sink"),
		dropped: describe("results_dropped_total", "Results that did not reach a sink and never will, by sink.", "sink"),
		queued:  describe("results_queued", "Results that wait for a sink, by sink.", "sink"),
	}
}

func (s sinkMetrics) describe(to chan<- *prometheus.Desc) {
	to <- s.sent
	to <- s.dropped
	to <- s.queued
}

func (s sinkMetrics) collect(stats results.Stats, to chan<- prometheus.Metric) {
	for _, one := range stats.Sinks {
		to <- prometheus.MustNewConstMetric(s.sent, prometheus.CounterValue, float64(one.Delivered), one.Name)
		to <- prometheus.MustNewConstMetric(s.dropped, prometheus.CounterValue, float64(one.Dropped), one.Name)
		to <- prometheus.MustNewConstMetric(s.queued, prometheus.GaugeValue, float64(one.Queued), one.Name)
	}
}
