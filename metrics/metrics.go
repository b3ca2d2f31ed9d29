package metrics

import (
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"leasehold/eventlog"
	"leasehold/node"
)

// Build says which program runs.
type Build struct{ Version, Commit, GoVersion string }

// Metrics are those of one node. All methods may be called from any goroutine; those
// of nil Metrics do nothing.
type Metrics struct {
	registry *prometheus.Registry

	leases leaseMetrics
	polls  *pollMetrics
	fleet  fleetMetrics
	lag    prometheus.Histogram
	batch  prometheus.Histogram
	took   prometheus.Histogram
}

// New returns metrics that count from zero, with those of the Go runtime and of the
// process.
func New(b Build) *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry()}
	m.registry.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	mk := maker{registry: m.registry}
	m.leases, m.polls, m.fleet = mk.leases(), mk.polls(), mk.fleet()
	m.lag = mk.histogram("events_lag_seconds",
		"How long a message to this node's own event subscription takes through Redis: twice a second, of thirty nodes or more each 15 seconds.", upToAMinute())
	m.batch = mk.histogram("lease_renewal_batch_size", "Leases in each call that renews some.", []float64{1, 5, 10, 50, 100, 250, 500})
	m.took = mk.histogram("lease_renewal_batch_seconds", "How long such calls took, the wait for an answer that never came included.", upToAMinute())
	m.registry.MustRegister(buildInfo(b))
	return m
}

func buildInfo(b Build) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name:        prefix + "build_info",
		Help:        "Always 1; the labels say which program runs.",
		ConstLabels: prometheus.Labels{"version": b.Version, "commit": b.Commit, "goversion": b.GoVersion},
	}, func() float64 { return 1 })
}

// Gauge returns what the node tells that is no event; nil where there are no metrics.
func (m *Metrics) Gauge() *node.Gauge {
	if m == nil {
		return nil
	}
	return &node.Gauge{
		Lag: func(d time.Duration) { m.lag.Observe(seconds(d)) },
		Batch: func(leases int, took time.Duration) {
			m.batch.Observe(float64(leases))
			m.took.Observe(seconds(took))
		},
	}
}

// Handler answers a scrape; nil where there are no metrics.
func (m *Metrics) Handler() http.Handler {
	if m == nil {
		return nil
	}
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{
		ErrorHandling: promhttp.ContinueOnError, EnableOpenMetrics: true, // which has the exemplars
	})
}

// Gatherer is for tests and for the documentation.
func (m *Metrics) Gatherer() prometheus.Gatherer { return m.registry }

// WatchLog has the log's lines counted, by level, and those that were lost.
func (m *Metrics) WatchLog(log *eventlog.Log) {
	if m == nil {
		return
	}
	for _, level := range eventlog.Levels() {
		m.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name:        prefix + "log_lines_total",
			Help:        "Lines that were logged, by level.",
			ConstLabels: prometheus.Labels{"level": string(level)},
		}, func() float64 { return float64(log.Lines(level)) }))
	}
	m.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: prefix + "log_lines_lost_total",
		Help: "Lines that were lost since the reader of the log was too slow or gone.",
	}, func() float64 { return float64(log.Lost()) }))
}
