package eventlog

import "time"

// PollStarted says that a poll was allowed and began.
type PollStarted struct {
	Session string
	Version int64
	// Delay is how late the poll began after the slot that it serves; below zero when
	// it serves none, or is the retry of a failed one.
	Delay time.Duration
	// Missed is how many slots after that one passed before the poll began: nobody polls
	// for them any more.
	Missed int
}

func (PollStarted) head() head { return head{Debug, "poll.started", "poll started"} }

func (e PollStarted) fields(l *line) {
	l.grant(e.Session, e.Version)
	if e.Delay >= 0 {
		l.ms("delay_ms", e.Delay)
	}
	if e.Missed > 0 {
		l.num("missed", int64(e.Missed))
	}
}

// PollSkipped says that an attempt did not become a poll.
type PollSkipped struct {
	Session string
	Version int64
	// Reason is unusable (the lease was not to be relied on, or the poller stops), or what
	// came of asking Redis: not_due, lost, unanswered.
	Reason string
}

func (PollSkipped) head() head { return head{Debug, "poll.skipped", "poll not begun"} }

func (e PollSkipped) fields(l *line) {
	l.grant(e.Session, e.Version)
	l.reason(e.Reason)
}

// PollCanceled says that a poll was ended by its lease or its node, or came after its
// lease: it says nothing about the target.
type PollCanceled struct {
	Session  string
	Version  int64
	Duration time.Duration
}

func (PollCanceled) head() head { return head{Debug, "poll.canceled", "poll counts for nothing"} }

func (e PollCanceled) fields(l *line) {
	l.grant(e.Session, e.Version)
	l.ms("duration_ms", e.Duration)
}

// PollSucceeded says that a poll brought what the session expects.
type PollSucceeded struct {
	Session  string
	Version  int64
	Duration time.Duration
	// Status is the HTTP status; zero for other kinds.
	Status int
	// Trace is the ID of the poll's trace; empty where none is sent.
	Trace string
}

func (PollSucceeded) head() head { return head{Debug, "poll.succeeded", "poll succeeded"} }

func (e PollSucceeded) fields(l *line) {
	l.grant(e.Session, e.Version)
	l.ms("duration_ms", e.Duration)
	if e.Status != 0 {
		l.num("status", int64(e.Status))
	}
	l.opt("trace_id", e.Trace)
}

// PollFailed says that a poll failed. Repeat marks all but the first of a row of
// equal failures: those are lines at debug.
type PollFailed struct {
	Session string
	Version int64
	// Class is the class of the failure, such as timeout or connect_error.
	Class    string
	Err      error
	Duration time.Duration
	// Failures counts the failed polls in a row, this one included.
	Failures int
	Repeat   bool
	// Trace is the ID of the poll's trace; empty where none is sent.
	Trace string
}

func (e PollFailed) head() head {
	if e.Repeat {
		return head{Debug, "poll.failed", "poll failed again"}
	}
	return head{Warn, "poll.failed", "poll failed"}
}

func (e PollFailed) fields(l *line) {
	l.grant(e.Session, e.Version)
	l.reason(e.Class)
	l.num("failures", int64(e.Failures))
	l.ms("duration_ms", e.Duration)
	l.opt("trace_id", e.Trace)
	l.err(e.Err)
}

// PollRecovered says that a poll succeeded after failures.
type PollRecovered struct {
	Session string
	Version int64
	// Failures counts the failed polls in a row before this one.
	Failures int
}

func (PollRecovered) head() head {
	return head{Info, "poll.recovered", "poll succeeded after failures"}
}

func (e PollRecovered) fields(l *line) {
	l.grant(e.Session, e.Version)
	l.num("failures", int64(e.Failures))
}

// PollLogged is what a session of kind log does: its poll is this line.
type PollLogged struct {
	Session string
	Version int64
}

func (PollLogged) head() head { return head{Info, "poll.logged", "sample task ran"} }

func (e PollLogged) fields(l *line) { l.grant(e.Session, e.Version) }

// PollDeferred says that Redis could not be asked, so that a poll does not start or
// its result is not recorded. It is logged on the change only.
type PollDeferred struct {
	Session string
	Version int64
	Err     error
}

func (PollDeferred) head() head {
	return head{Warn, "poll.deferred", "poll waits for Redis"}
}

func (e PollDeferred) fields(l *line) {
	l.grant(e.Session, e.Version)
	l.err(e.Err)
}

// ResultDropped says that results did not reach a sink, and never will.
type ResultDropped struct {
	Sink string
	// Count is how many, since the last such line.
	Count int
	// Err is the latest reason.
	Err error
}

func (ResultDropped) head() head {
	return head{Warn, "result.dropped", "results did not reach a sink"}
}

func (e ResultDropped) fields(l *line) {
	l.opt("sink", e.Sink)
	l.num("count", int64(e.Count))
	l.err(e.Err)
}

// ResultFenced says that a result came with a token that is no longer current and
// was refused.
type ResultFenced struct {
	Session string
	Version int64
	Err     error
}

func (ResultFenced) head() head {
	return head{Error, "result.fenced", "result of an old lease was refused"}
}

func (e ResultFenced) fields(l *line) {
	l.grant(e.Session, e.Version)
	l.err(e.Err)
}
