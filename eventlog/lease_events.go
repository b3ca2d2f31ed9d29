package eventlog

import "time"

// LeaseAcquired says that this node, or another holder through its API, holds a
// session from now on.
type LeaseAcquired struct {
	Session string
	Version int64
	// Holder is who has the lease, where that is not this node.
	Holder string
	// Trigger is what led to the claim: an event, a timer, a scan, the API.
	Trigger string
	// Previous is the holder before, where known.
	Previous string
	// Takeover counts from the old lease's deadline or release; below zero when
	// unknown.
	Takeover time.Duration
}

func (LeaseAcquired) head() head { return head{Info, "lease.acquired", "lease acquired"} }

func (e LeaseAcquired) fields(l *line) {
	l.grant(e.Session, e.Version)
	l.opt("holder", e.Holder)
	l.opt("trigger", e.Trigger)
	l.opt("previous", e.Previous)
	if e.Takeover >= 0 {
		l.ms("takeover_ms", e.Takeover)
	}
}

// LeaseAcquireFailed says that a claim did not succeed: another holds the lease
// (debug), or the outcome is unknown (warn, Err set).
type LeaseAcquireFailed struct {
	Session string
	// Trigger is what led to the claim; empty where nothing was claimed.
	Trigger string
	Holder  string
	Err     error
	// Repeat marks all claims without an answer but the first of an outage: those are
	// lines at debug.
	Repeat bool
}

func (e LeaseAcquireFailed) head() head {
	switch {
	case e.Repeat:
		return head{Debug, "lease.acquire_failed", "lease could not be acquired, either"}
	case e.Err != nil:
		return head{Warn, "lease.acquire_failed", "lease could not be acquired"}
	default:
		return head{Debug, "lease.acquire_failed", "another holds the lease"}
	}
}

func (e LeaseAcquireFailed) fields(l *line) {
	l.session(e.Session)
	l.opt("trigger", e.Trigger)
	l.opt("holder", e.Holder)
	l.err(e.Err)
}

// LeaseReleased says that this node, or another holder through its API, gave a lease
// back, or had it taken away since its session may not be polled any more.
type LeaseReleased struct {
	Session string
	Version int64
	// Holder is who had the lease, where that is not this node.
	Holder string
	// Reason is shutdown, rebalance, paused, deleted, failure or api.
	Reason string
	// Held is for how long this node had the lease; zero when unknown.
	Held time.Duration
}

func (LeaseReleased) head() head { return head{Info, "lease.released", "lease released"} }

func (e LeaseReleased) fields(l *line) {
	l.grant(e.Session, e.Version)
	l.opt("holder", e.Holder)
	l.reason(e.Reason)
	l.held(e.Held)
}

// LeaseRenewed says that a lease's TTL started anew.
type LeaseRenewed struct {
	Session string
	Version int64
	// Holder is who has the lease, where that is not this node.
	Holder string
}

func (LeaseRenewed) head() head { return head{Debug, "lease.renewed", "lease renewed"} }

func (e LeaseRenewed) fields(l *line) {
	l.grant(e.Session, e.Version)
	l.opt("holder", e.Holder)
}

// LeaseRenewFailed says that the outcome of a renewal is unknown. No new poll
// starts until one succeeds.
type LeaseRenewFailed struct {
	Session string
	Version int64
	Err     error
	// Remaining is the trust that is left in the lease.
	Remaining time.Duration
}

func (LeaseRenewFailed) head() head {
	return head{Warn, "lease.renew_failed", "lease could not be renewed"}
}

func (e LeaseRenewFailed) fields(l *line) {
	l.grant(e.Session, e.Version)
	l.ms("remaining_ms", e.Remaining)
	l.err(e.Err)
}

// LeaseExpired says that the trust in a lease of this node ran out.
type LeaseExpired struct {
	Session string
	Version int64
	Reason  string
	// Held is for how long this node had the lease; zero when unknown.
	Held time.Duration
}

func (LeaseExpired) head() head { return head{Warn, "lease.expired", "lease ran out"} }

func (e LeaseExpired) fields(l *line) {
	l.grant(e.Session, e.Version)
	l.reason(e.Reason)
	l.held(e.Held)
}

// LeaseLost says that Redis no longer has this node's lease.
type LeaseLost struct {
	Session string
	Version int64
	Reason  string
	// Holder is who has the lease instead; empty when nobody has.
	Holder string
	// Held is for how long this node had the lease; zero when unknown.
	Held time.Duration
}

func (LeaseLost) head() head { return head{Warn, "lease.lost", "lease lost"} }

func (e LeaseLost) fields(l *line) {
	l.grant(e.Session, e.Version)
	l.opt("holder", e.Holder)
	l.reason(e.Reason)
	l.held(e.Held)
}
