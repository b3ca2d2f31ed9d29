package eventlog

func nodeEntries() []Entry {
	return []Entry{
		{
			NodeStarting{},
			in(Info),
			"first line of a process, with its effective settings",
			fields(always("node_version"), always("pid"), always("settings").note("object, secrets masked, empty ones left out")),
		},
		{
			NodeReady{},
			in(Info),
			"the node runs; its first claims follow 0.5 to 1.5 s after it has seen the fleet",
			fields(opt("http_addr"), opt("redis").note("no credentials")),
		},
		{
			NodeDraining{},
			in(Info),
			"a stop has begun, or the node can't go on and leaves",
			fields(opt("reason").note("`SIGTERM`, `SIGINT`, or why it failed"), always("leases")),
		},
		{
			NodeFailed{},
			in(Error),
			"the node could not start, or can't go on, and ends",
			fields(opt("reason").note("and what helps")),
		},
		{
			NodeStopped{},
			in(Info),
			"last line of a process, but for one that was killed, or ended by a second signal",
			fields(opt("reason").note("`SIGTERM`, `SIGINT`, or why it failed"), always("leases_left").note("left to run out"), always("duration_ms").note("of the stop")),
		},
		{
			NodeFenced{},
			in(Error),
			"the node's own heartbeat was not accepted for its TTL − margin; it claims nothing. Leases end by their own deadlines",
			fields(opt("reason"), opt("error")),
		},
		{
			NodeUnfenced{},
			in(Info),
			"the heartbeat was accepted again",
			fields(always("duration_ms")),
		},
		{
			NodeSummary{},
			in(Info),
			"once a minute: how the node is, and what it did since the last one",
			fields(always("leases"), always("ideal").note("leases that it should have by its plan"), always("members"), always("polls").note("that ended"),
				always("failures"), always("delay_ms").note("the most that a poll began after its slot"),
				always("remaining_ms").note("the least trust that is left in a lease"), opt("heartbeat").note("`fresh`, `late`"),
				opt("events").note("`ok`, or why they can't be relied on")),
		},
		{
			NodeCordoned{},
			in(Info),
			"an operator wants the node to take no more sessions",
			fields(opt("reason").note("`cordoned`: it keeps what it has; `drained`: it gives that up too")),
		},
		{
			NodeUncordoned{},
			in(Info),
			"it takes sessions again",
			fields(),
		},
	}
}

func memberEntries() []Entry {
	return []Entry{
		{
			MemberJoined{},
			in(Info),
			"another node was seen for the first time",
			fields(always("member"), always("members").note("live nodes, this one included")),
		},
		{
			MemberLeft{},
			in(Info),
			"a node took its heartbeat away",
			fields(always("member"), always("members")),
		},
		{
			MemberExpired{},
			in(Warn),
			"a node's heartbeat ran out",
			fields(always("member"), always("members")),
		},
	}
}

func leaseEntries() []Entry {
	return []Entry{
		{
			LeaseAcquired{},
			in(Info),
			"this node holds the session from now on, or another `holder` through its API",
			fields(opt("endpoint_id"), always("version"), opt("holder").note("left out for the node itself"), opt("trigger").note("`plan`, `event`, `timer`, `scan`, `fallback`, `api`"), opt("previous"), opt("takeover_ms").note("since the old lease's deadline, or since its release was heard of")),
		},
		{
			LeaseAcquireFailed{},
			in(Debug, Warn),
			"debug: another holds the lease, or one more claim of an outage had no answer; warn: the first one of an outage, or the lease has no expiry",
			fields(opt("endpoint_id"), opt("trigger").note("as above; left out where nothing was claimed"), opt("holder"), opt("error")),
		},
		{
			LeaseReleased{},
			in(Info),
			"this node gave the lease back, or another `holder` did through its API",
			fields(opt("endpoint_id"), always("version"), opt("holder").note("left out for the node itself"), opt("reason").note("`shutdown`, `rebalance`, `paused`, also for a document that became invalid, `deleted`, `failure`, `api`"), opt("held_ms").note("for how long this node had the lease")),
		},
		{
			LeaseRenewed{},
			in(Debug),
			"the TTL started anew",
			fields(opt("endpoint_id"), always("version"), opt("holder").note("left out for the node itself")),
		},
		{
			LeaseRenewFailed{},
			in(Warn),
			"a renewal had no answer; no new poll starts until one succeeds. Once for each outage of a lease",
			fields(opt("endpoint_id"), always("version"), always("remaining_ms").note("trust that is left"), opt("error")),
		},
		{
			LeaseExpired{},
			in(Warn),
			"the trust in an own lease ran out, or a release had no answer",
			fields(opt("endpoint_id"), always("version"), opt("reason"), opt("held_ms").note("for how long this node had the lease")),
		},
		{
			LeaseLost{},
			in(Warn),
			"Redis no longer has this node's lease",
			fields(opt("endpoint_id"), always("version"), opt("holder").note("who has it instead; left out when nobody has"), opt("reason"), opt("held_ms").note("for how long this node had the lease")),
		},
	}
}

func sessionEntries() []Entry {
	return []Entry{
		{
			SessionAdded{},
			in(Info),
			"a document came, after the first scan",
			fields(opt("endpoint_id")),
		},
		{
			SessionChanged{},
			in(Info),
			"a document was edited",
			fields(opt("endpoint_id")),
		},
		{
			SessionRemoved{},
			in(Info),
			"a document went",
			fields(opt("endpoint_id")),
		},
		{
			SessionInvalid{},
			in(Warn),
			"a document can't be used and is skipped; once for each version of it",
			fields(opt("endpoint_id"), opt("reason"), always("key")),
		},
		{
			KeyForeign{},
			in(Warn),
			"a key under the fleet's prefixes is not the fleet's and is left alone, or the result stream could not be appended to; once a minute a key",
			fields(always("key"), opt("reason")),
		},
	}
}

func pollEntries() []Entry {
	return []Entry{
		{
			PollStarted{},
			in(Debug),
			"Redis allowed a poll, and it began",
			fields(opt("endpoint_id"), always("version"), opt("delay_ms").note("after the slot that the poll serves; left out for a first poll and a retry"), opt("missed").note("slots between that one and the start")),
		},
		{
			PollSkipped{},
			in(Debug),
			"an attempt did not become a poll",
			fields(opt("endpoint_id"), always("version"), opt("reason").note("`unusable`: the lease is in doubt, or the poller stops; of Redis: `not_due`, `lost`, `unanswered`")),
		},
		{
			PollCanceled{},
			in(Debug),
			"a poll was ended by its lease or its node, or its result came after the lease: it says nothing about the target",
			fields(opt("endpoint_id"), always("version"), always("duration_ms")),
		},
		{
			PollSucceeded{},
			in(Debug),
			"a poll brought what the session expects",
			fields(opt("endpoint_id"), always("version"), always("duration_ms"), opt("status"), opt("trace_id")),
		},
		{
			PollFailed{},
			in(Warn, Debug),
			"warn: the first failure in a row, of the fleet as a whole; debug: each further one",
			fields(opt("endpoint_id"), always("version"), opt("reason").note("`timeout`, `dns_error`, `connect_error`, `denied`, `tls_error`, `http_error`, `too_large`, `assertion`, `panic`"), always("failures"), always("duration_ms"), opt("trace_id"), opt("error")),
		},
		{
			PollRecovered{},
			in(Info),
			"a poll succeeded after failures",
			fields(opt("endpoint_id"), always("version"), always("failures")),
		},
		{
			PollLogged{},
			in(Info),
			"what a session of kind `log` does",
			fields(opt("endpoint_id"), always("version")),
		},
		{
			PollDeferred{},
			in(Warn),
			"Redis does not let a poll start (once until it does), or a result could not be recorded",
			fields(opt("endpoint_id"), always("version"), opt("error")),
		},
		{
			ResultFenced{},
			in(Error),
			"a result of an old lease was refused",
			fields(opt("endpoint_id"), always("version"), opt("error")),
		},
		{
			ResultDropped{},
			in(Warn),
			"results did not reach a sink and never will; one line in ten seconds for each sink",
			fields(opt("sink").note("`stdout`, `webhook`"), always("count").note("since the last such line"), opt("error").note("the latest reason")),
		},
	}
}

func eventEntries() []Entry {
	return []Entry{
		{
			EventsSubscribed{},
			in(Info),
			"keyspace notifications arrive",
			fields(opt("flags"), opt("channels")),
		},
		{
			EventsLost{},
			in(Warn),
			"notifications may have been missed; a full look follows",
			fields(opt("reason"), opt("error")),
		},
		{
			ClaimsHeldOff{},
			in(Warn),
			"Redis may have forgotten who has what: sessions of others are claimed when duration_ms is over; with error it is not known, and asked again",
			fields(opt("reason"), always("duration_ms"), opt("error")),
		},
		{
			EventsDisabled{},
			in(Warn),
			"flags or channels were refused; deadlines and the scan must do",
			fields(opt("reason")),
		},
		{
			ReconcileRepaired{},
			in(Warn),
			"the scan found what no event had told",
			fields(always("kind").note("`lease`, `session`, `state` (of a session that has gone)"), always("count")),
		},
		{
			ReconcileFailed{},
			in(Warn),
			"the scan of all documents, or the look for other nodes, failed and is repeated. Once until one succeeds",
			fields(always("kind").note("`member`, `session`"), opt("error")),
		},
	}
}

func ownEntries() []Entry {
	return []Entry{
		{
			ActorFailed{},
			in(Error),
			"an actor panicked and was stopped or replaced, or `httpapi` did in a request, which got a 500",
			fields(opt("reason"), always("actor"), opt("stack")),
		},
		{
			RedisDown{},
			in(Warn),
			"a heartbeat had no answer, the first of an outage",
			fields(opt("error")),
		},
		{
			RedisUp{},
			in(Info),
			"a heartbeat was accepted again",
			fields(),
		},
		{
			SettingsWarning{},
			in(Warn),
			"a setting of the node or of Redis works but has a price",
			fields(opt("reason")),
		},
		{
			TracesStarted{},
			in(Info),
			"the `OTEL_*` variables ask for traces: spans of polls are sent",
			fields(opt("endpoint").note("scheme and host of the collector"), opt("sampler")),
		},
		{
			TracesDropped{},
			in(Warn),
			"spans did not reach the collector and never will; one line a minute",
			fields(always("count").note("since the last such line"), opt("error").note("the latest reason")),
		},
	}
}
