package supervisor

import (
	"slices"
	"time"
)

// machine decides about failures. It knows no clock, no actor.
type machine struct {
	maxFailures int
	window      time.Duration

	failures []time.Time // within the window
	draining bool
	drained  bool
}

// verdict is what follows when the pair has gone.
type verdict int

const (
	again      verdict = iota // make a new pair after a wait
	giveUp                    // the node can't go on
	done                      // drained as asked
	incomplete                // a failure cut the drain short
)

// onPairGone decides what follows the end of both actors.
func (m *machine) onPairGone(now time.Time) (verdict, time.Duration) {
	switch {
	case m.drained:
		return done, 0
	case m.draining:
		return incomplete, 0
	}
	m.failures = slices.DeleteFunc(m.failures, func(at time.Time) bool { return now.Sub(at) >= m.window })
	m.failures = append(m.failures, now)
	if len(m.failures) > m.maxFailures {
		return giveUp, 0
	}
	return again, min(mostPause, firstPause<<(len(m.failures)-1))
}
