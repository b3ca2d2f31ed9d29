package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"leasehold/eventlog"
)

const (
	success  = "success"
	canceled = "canceled"
)

// classes returns what may come of a poll.
func classes() []string {
	return []string{
		success, canceled, "timeout", "dns_error", "connect_error", "denied", "tls_error", "http_error", "too_large", "assertion", "panic",
	}
}

// pollMetrics are about polls.
type pollMetrics struct {
	started    prometheus.Counter
	delay      prometheus.Histogram
	ended      counters
	successes  prometheus.Counter
	duration   histograms
	took       prometheus.Observer // successes
	tookBad    prometheus.Observer // failures
	recoveries prometheus.Counter
	skipped    counters
	checks     counters
	allowed    prometheus.Counter
	logged     prometheus.Counter
	deferrals  prometheus.Counter
	missed     prometheus.Counter
	fenced     prometheus.Counter

	tally tally
}

func (mk maker) polls() *pollMetrics {
	m := &pollMetrics{
		started: mk.counter("polls_started_total", "Polls that Redis allowed and that began."),
		delay: mk.histogram("poll_delay_seconds",
			"How late polls began after the slot that they serve, first polls and retries aside.", upToAMinute()),
		ended: mk.counters("polls_total",
			"Polls that ended, by the class of their result. canceled: by the end of the lease or of the node.", "result", classes()...),
		duration: mk.histograms("poll_duration_seconds", "How long polls took, those aside that were cut short by the end of their lease.",
			upToAMinute(), "result", success, "failure"),
		recoveries: mk.counter("poll_recoveries_total", "Polls that succeeded after failures."),
		skipped: mk.counters("polls_skipped_total",
			"Attempts that did not become a poll. unusable: the lease was not to be relied on, or the poller stops; "+
				"not_due, lost, unanswered: what came of asking Redis.", "reason", "unusable", "not_due", "lost", "unanswered"),
		checks: mk.counters("ownership_checks_total", "Comparisons of holder and token in Redis before a poll, by result.",
			"result", "owned", "not_due", "lost", "unanswered"),
		logged: mk.counter("polls_logged_total", "Runs of the sample task, sessions of kind log."),
		deferrals: mk.counter("poll_deferrals_total",
			"Times that a session's polls began to wait for Redis, or that a result could not be recorded."),
		missed: mk.counter("poll_slots_missed_total",
			"Slots that passed between the one that a poll serves and its start: Redis, the nodes or a free place were missing, "+
				"the session was paused, or a worker had it. Counted at that start, but not of first polls and retries. "+
				"What a poll covers by its own length does not count, unless it was canceled or its end could not be recorded, "+
				"nor does what `misfire` skips."),
		fenced: mk.counter("results_fenced_total", "Results of an old lease that were refused."),
	}
	m.allowed = m.checks.of("owned")
	m.successes = m.ended.of(success)
	m.took, m.tookBad = m.duration.of(success), m.duration.of("failure")
	return m
}

func (m *pollMetrics) observe(e eventlog.Event) bool {
	switch e := e.(type) {
	case eventlog.PollStarted:
		m.started.Inc()
		m.allowed.Inc()
		m.missed.Add(float64(e.Missed))
		if e.Delay >= 0 {
			m.delay.Observe(seconds(e.Delay))
			m.tally.late(e.Delay)
		}
	case eventlog.PollSkipped:
		m.skipped.inc(e.Reason)
		if e.Reason != "unusable" { // else Redis was not asked
			m.checks.inc(e.Reason)
		}
	case eventlog.PollCanceled:
		m.ended.inc(canceled)
	case eventlog.PollSucceeded:
		m.successes.Inc()
		m.tally.polls.Add(1)
		observe(m.took, seconds(e.Duration), e.Trace)
	case eventlog.PollFailed:
		m.ended.inc(e.Class)
		m.tally.polls.Add(1)
		m.tally.failures.Add(1)
		observe(m.tookBad, seconds(e.Duration), e.Trace)
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
