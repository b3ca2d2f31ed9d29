package eventlog

import "time"

// NodeStarting is a node's first line.
type NodeStarting struct {
	// Version is the program's version.
	Version string
	PID     int
	// Settings are the effective settings by variable name, secrets masked.
	Settings map[string]string
}

func (NodeStarting) head() head { return head{Info, "node.starting", "node is starting"} }

func (e NodeStarting) fields(l *line) {
	l.str("node_version", e.Version)
	l.num("pid", int64(e.PID))
	l.dict("settings", e.Settings)
}

// NodeReady says that the node has joined the fleet and takes sessions.
type NodeReady struct {
	// HTTPAddr is where the node listens; empty without an HTTP server.
	HTTPAddr string
	// Redis is the address of the server, without credentials.
	Redis string
}

func (NodeReady) head() head { return head{Info, "node.ready", "node is ready"} }

func (e NodeReady) fields(l *line) {
	l.opt("http_addr", e.HTTPAddr)
	l.opt("redis", scrub(e.Redis))
}

// NodeDraining says that a graceful stop has begun.
type NodeDraining struct {
	Reason string
	// Leases counts the leases that are still held.
	Leases int
}

func (NodeDraining) head() head {
	return head{Info, "node.draining", "node hands back its leases"}
}

func (e NodeDraining) fields(l *line) {
	l.reason(e.Reason)
	l.num("leases", int64(e.Leases))
}

// NodeFailed says why a node could not start, or can't go on: it ends.
type NodeFailed struct{ Reason string }

func (NodeFailed) head() head { return head{Error, "node.failed", "node has failed and ends"} }

func (e NodeFailed) fields(l *line) { l.reason(e.Reason) }

// NodeStopped is a node's last line.
type NodeStopped struct {
	Reason string
	// LeasesLeft counts the leases that were left to run out.
	LeasesLeft int
	// Duration is how long the stop took.
	Duration time.Duration
}

func (NodeStopped) head() head { return head{Info, "node.stopped", "node has stopped"} }

func (e NodeStopped) fields(l *line) {
	l.reason(e.Reason)
	l.num("leases_left", int64(e.LeasesLeft))
	l.ms("duration_ms", e.Duration)
}

// NodeFenced says that the node can't keep its place in the fleet and works on
// nothing until it can.
type NodeFenced struct {
	Reason string
	Err    error
}

func (NodeFenced) head() head {
	return head{Error, "node.fenced", "node is cut off from the fleet and polls nothing"}
}

func (e NodeFenced) fields(l *line) {
	l.reason(e.Reason)
	l.err(e.Err)
}

// NodeUnfenced ends a NodeFenced.
type NodeUnfenced struct {
	// Duration is how long the node was fenced.
	Duration time.Duration
}

func (NodeUnfenced) head() head {
	return head{Info, "node.unfenced", "node is back in the fleet"}
}

func (e NodeUnfenced) fields(l *line) { l.ms("duration_ms", e.Duration) }

// NodeCordoned says that an operator wants the node to take no sessions.
type NodeCordoned struct {
	// Reason is cordoned (it keeps what it has) or drained (it gives that up too).
	Reason string
}

func (NodeCordoned) head() head {
	return head{Info, "node.cordoned", "the node takes no more sessions"}
}

func (e NodeCordoned) fields(l *line) { l.reason(e.Reason) }

// NodeUncordoned ends a NodeCordoned.
type NodeUncordoned struct{}

func (NodeUncordoned) head() head {
	return head{Info, "node.uncordoned", "the node takes sessions again"}
}

func (NodeUncordoned) fields(*line) {}

// NodeSummary says once a minute how the node is and what it did since.
type NodeSummary struct {
	// Leases is how many the node holds, Ideal how many it should by its plan.
	Leases, Ideal int
	// Members counts the live nodes, this one included.
	Members int
	// Polls are those that ended since the last summary, Failures those that failed.
	Polls, Failures int
	// Delay is the most that a poll began after its slot since then.
	Delay time.Duration
	// Remaining is the least trust that is left in a lease.
	Remaining time.Duration
	// Events is ok, or why events can't be relied on; Heartbeat is fresh or late.
	Events, Heartbeat string
}

func (NodeSummary) head() head { return head{Info, "node.summary", "how the node is"} }

func (e NodeSummary) fields(l *line) {
	l.num("leases", int64(e.Leases))
	l.num("ideal", int64(e.Ideal))
	l.num("members", int64(e.Members))
	l.num("polls", int64(e.Polls))
	l.num("failures", int64(e.Failures))
	l.ms("delay_ms", e.Delay)
	l.ms("remaining_ms", e.Remaining)
	l.opt("heartbeat", e.Heartbeat)
	l.opt("events", scrub(e.Events))
}

// RedisDown says that Redis stopped answering.
type RedisDown struct{ Err error }

func (RedisDown) head() head { return head{Warn, "redis.down", "Redis does not answer"} }

func (e RedisDown) fields(l *line) { l.err(e.Err) }

// RedisUp says that Redis answers again.
type RedisUp struct{}

func (RedisUp) head() head { return head{Info, "redis.up", "Redis answers again"} }

func (RedisUp) fields(*line) {}

// SettingsWarning names a setting, of the node or of Redis, that works but has a
// price.
type SettingsWarning struct{ Reason string }

func (SettingsWarning) head() head {
	return head{Warn, "settings.warning", "a setting deserves attention"}
}

func (e SettingsWarning) fields(l *line) { l.reason(e.Reason) }

// ActorFailed says that an actor panicked. It has been stopped or replaced.
type ActorFailed struct {
	Actor  string
	Reason string
	Stack  string
}

func (ActorFailed) head() head { return head{Error, "actor.failed", "an actor failed"} }

func (e ActorFailed) fields(l *line) {
	l.reason(e.Reason)
	l.str("actor", e.Actor)
	l.opt("stack", scrub(e.Stack))
}

// TracesStarted says that spans of polls are sent to a collector.
type TracesStarted struct {
	// Endpoint is the collector's scheme and host.
	Endpoint string
	// Sampler says of which polls.
	Sampler string
}

func (TracesStarted) head() head { return head{Info, "traces.started", "traces are sent"} }

func (e TracesStarted) fields(l *line) {
	l.opt("endpoint", scrub(e.Endpoint))
	l.opt("sampler", e.Sampler)
}

// TracesDropped says that spans did not reach the collector, and never will.
type TracesDropped struct {
	// Count is how many, since the last such line.
	Count int
	// Err is the latest reason.
	Err error
}

func (TracesDropped) head() head {
	return head{Warn, "traces.dropped", "spans did not reach the collector"}
}

func (e TracesDropped) fields(l *line) {
	l.num("count", int64(e.Count))
	l.err(e.Err)
}
