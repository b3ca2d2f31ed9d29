package leaseholder

import "time"

// phase is where in its life a lease is.
type phase int

const (
	held      phase = iota
	uncertain       // a renewal had no answer
	ending          // to be released once the poller has ended
	lost            // the cell is dead; the poller is ending
	releasing       // the release was sent
	over            // the end was reported
)

// machine decides what a leaseholder does next. It knows no clock, no actor, no
// I/O.
type machine struct {
	phase   phase
	reason  Reason
	fault   bool // the poller ended by itself
	retryIn time.Duration
}

// action is what the actor has to do.
type action int

const (
	nothing     action = iota
	finishPoll         // stop the poller once its poll has ended
	cancelPoll         // stop the poller and its poll
	resumePoll         // the cell is usable again
	giveBack           // send the release
	end                // report
	endReleased        // the same, after a release
)

// polling reports whether the poller may still poll, so that a changed document
// matters to it.
func (m *machine) polling() bool { return m.phase == held || m.phase == uncertain }

func (m *machine) onRelease(reason Reason) action {
	switch m.phase {
	case held, uncertain:
		m.phase, m.reason = ending, reason
	case ending:
		if !reason.cancels() {
			return nothing
		}
		m.reason = reason
	case lost, releasing, over:
		return nothing
	}
	if reason.cancels() {
		return cancelPoll
	}
	return finishPoll
}

func (m *machine) onAbort() action {
	if m.phase == ending {
		return cancelPoll
	}
	return nothing
}

func (m *machine) onPollFailed(retryIn time.Duration) action {
	if m.phase == held || m.phase == uncertain {
		m.retryIn = retryIn
		return m.onRelease(Failure)
	}
	return nothing
}

func (m *machine) onSuspended() {
	if m.phase == held {
		m.phase = uncertain
	}
}

func (m *machine) onRenewed() action {
	if m.phase == uncertain {
		m.phase = held
		return resumePoll
	}
	return nothing
}

func (m *machine) onCellEnded() action {
	switch m.phase {
	case held, uncertain, ending:
		m.phase = lost
		return cancelPoll
	case lost, releasing, over:
	}
	return nothing
}

// onPollerEnded follows the end of the poller, asked for or not.
func (m *machine) onPollerEnded() action {
	switch m.phase {
	case held, uncertain:
		m.phase, m.reason, m.fault = releasing, Failure, true
		return giveBack
	case ending:
		m.phase = releasing
		return giveBack
	case lost:
		m.phase = over
		return end
	case releasing, over:
	}
	return nothing
}

func (m *machine) onReleased() action {
	if m.phase == releasing {
		m.phase = over
		return endReleased
	}
	return nothing
}
