package metrics

import (
	"sync/atomic"
	"time"
)

// Tally is what was counted since the one before.
type Tally struct {
	// Polls are those that ended, Failures those of them that failed.
	Polls, Failures int
	// Delay is the most that a poll began after its slot.
	Delay time.Duration
}

// tally counts for the next summary in the log.
type tally struct{ polls, failures, delay atomic.Int64 }

func (t *tally) late(d time.Duration) {
	for {
		most := t.delay.Load()
		if int64(d) <= most || t.delay.CompareAndSwap(most, int64(d)) {
			return
		}
	}
}

// Tally returns what was counted since the last call, and begins anew.
func (m *Metrics) Tally() Tally {
	if m == nil {
		return Tally{}
	}
	t := &m.polls.tally
	return Tally{
		Polls: int(t.polls.Swap(0)), Failures: int(t.failures.Swap(0)), Delay: time.Duration(t.delay.Swap(0)),
	}
}
