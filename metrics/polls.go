package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"leasehold/eventlog"
)

const success = "success"

// classes returns what may come of a poll.
func classes() []string {
	return []string{
		success, "timeout", "dns_error", "connect_error", "tls_error", "http_error", "too_large", "assertion", "panic",
	}
}

// pollMetrics are about polls.
type pollMetrics struct {
	started    prometheus.Counter
	ended      counters
	successes  prometheus.Counter
	duration   histograms
	took       prometheus.Observer // successes
	tookBad    prometheus.Observer // failures
	recoveries prometheus.Counter
	logged     prometheus.Counter
	deferrals  prometheus.Counter
	fenced     prometheus.Counter
}

func (mk maker) polls() pollMetrics {
	m := pollMetrics{
		started: mk.counter("polls_started_total", "Polls that Redis allowed and that began."),
		ended:   mk.counters("polls_total", "Polls that ended, by the class of their result.", "result", classes()...),
		duration: mk.histograms("poll_duration_seconds", "How long polls took, those aside that were cut short by the end of their lease.",
			[]float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60}, "result", success, "failure"),
		recoveries: mk.counter("poll_recoveries_total", "Polls that succeeded after failures."),
		logged:     mk.counter("polls_logged_total", "Runs of the sample task, sessions of kind log."),
		deferrals: mk.counter("poll_deferrals_total",
			"Times that a session's polls began to wait for Redis, or that a result could not be recorded."),
		fenced: mk.counter("results_fenced_total", "Results of an old lease that were refused."),
	}
	m.successes = m.ended.of(success)
	m.took, m.tookBad = m.duration.of(success), m.duration.of("failure")
	return m
}

func (m *pollMetrics) observe(e eventlog.Event) bool {
	switch e := e.(type) {
	case eventlog.PollStarted:
		m.started.Inc()
	case eventlog.PollSucceeded:
		m.successes.Inc()
		m.took.Observe(seconds(e.Duration))
	case eventlog.PollFailed:
		m.ended.inc(e.Class)
		m.tookBad.Observe(seconds(e.Duration))
	case eventlog.PollRecovered:
		m.recoveries.Inc()
	case eventlog.PollLogged:
		m.logged.Inc()
	case eventlog.PollDeferred:
		m.deferrals.Inc()
	case eventlog.ResultFenced:
		m.fenced.Inc()
	default:
		return false
	}
	return true
}
