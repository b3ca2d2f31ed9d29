package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"leasehold/tracing"
)

// traceCollector reads the counts of a tracer at each scrape.
type traceCollector struct {
	stats                 func() tracing.Stats
	sent, dropped, queued *prometheus.Desc
}

// WatchTraces has the tracer's counts read at each scrape. Call it once.
func (m *Metrics) WatchTraces(stats func() tracing.Stats) {
	if m == nil {
		return
	}
	m.registry.MustRegister(&traceCollector{
		stats: stats,
		sent:  describe("trace_spans_sent_total", "Spans of polls that the collector took."),
		dropped: describe("trace_spans_dropped_total", "Spans of polls that were lost. full: they found no room in the queue; "+
			"failed: no collector took them.", "reason"),
		queued: describe("trace_spans_queued", "Spans of polls that wait for the collector."),
	})
}

// Describe implements [prometheus.Collector].
func (c *traceCollector) Describe(to chan<- *prometheus.Desc) {
	to <- c.sent
	to <- c.dropped
	to <- c.queued
}

// Collect implements [prometheus.Collector].
func (c *traceCollector) Collect(to chan<- prometheus.Metric) {
	s := c.stats()
	to <- prometheus.MustNewConstMetric(c.sent, prometheus.CounterValue, float64(s.Sent))
	to <- prometheus.MustNewConstMetric(c.dropped, prometheus.CounterValue, float64(s.Full), "full")
	to <- prometheus.MustNewConstMetric(c.dropped, prometheus.CounterValue, float64(s.Failed), "failed")
	to <- prometheus.MustNewConstMetric(c.queued, prometheus.GaugeValue, float64(s.Queued))
}
