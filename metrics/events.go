package metrics

import "leasehold/eventlog"

// Observe counts an event. It is made for [eventlog.Options.Observe].
func (m *Metrics) Observe(e eventlog.Event) {
	if m != nil {
		_ = m.observe(e)
	}
}

// observe reports whether the event is one that it knows, be it counted or not.
func (m *Metrics) observe(e eventlog.Event) bool {
	// The most frequent first.
	return m.polls.observe(e) || m.leases.observe(e) || m.fleet.observe(e) || uncounted(e)
}

// uncounted reports whether an event says nothing that is worth a metric of its own.
func uncounted(e eventlog.Event) bool {
	switch e.(type) {
	case eventlog.NodeStarting, eventlog.NodeReady, eventlog.NodeDraining, eventlog.NodeFailed, eventlog.NodeStopped: // what a scrape shows anyway
	case eventlog.NodeSummary: // is made from what is counted
	case eventlog.NodeCordoned, eventlog.NodeUncordoned: // an operator's own doing
	case eventlog.NodeUnfenced, eventlog.RedisUp: // ends of what is counted by its beginning
	case eventlog.ReconcileFailed: // the commands that failed are counted by the hook
	case eventlog.SettingsWarning: // is for the one who sets them
	case eventlog.ResultDropped: // is counted by the sinks, one by one
	case eventlog.TracesStarted, eventlog.TracesDropped: // spans are counted by the tracer
	default:
		return false
	}
	return true
}
