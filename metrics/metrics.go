package metrics

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"leasehold/eventlog"
)

// Build says which program runs.
type Build struct{ Version, Commit, GoVersion string }

// Metrics are those of one node. All methods may be called from any goroutine; those
// of nil Metrics do nothing.
type Metrics struct {
	registry *prometheus.Registry

	leases leaseMetrics
	polls  pollMetrics
	fleet  fleetMetrics
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

// Handler answers a scrape; nil where there are no metrics.
func (m *Metrics) Handler() http.Handler {
	if m == nil {
		return nil
	}
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError})
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
		Help: "Lines that were lost since the reader of the log was too slow.",
	}, func() float64 { return float64(log.Lost()) }))
}
