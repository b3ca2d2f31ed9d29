package sim

import (
	"time"

	"leasehold/internal/nodetest"
)

// What a node that starts asks of a loss of data.
const (
	askedBefore  = iota // it, and claims something else
	asked               // after it
	askedNothing        // at all
	askedAndTold        // and there is a note
	askedLate           // and the note has ended
	askedAgain          // and was told, and once more after it had claimed, and was not
)

// besideRestart has a node poll beside another that began before Redis forgot all.
func besideRestart(h *hand, how int) *nodetest.Poll {
	ask := func() { h.send("PTTL", "poll:loss") }
	h.begin("s", "a", 100, 1)
	h.poll("s", "a", 100)
	h.pass(2 * time.Second)
	if how == askedBefore {
		ask()
		h.first("t", "b", 150)
		h.pass(time.Second)
	}
	h.another(truth{})
	if how == askedAndTold || how == askedLate || how == askedAgain {
		h.inner("SET", "poll:loss", "1000 c", "PX", "1000")
	}
	if how == askedLate {
		h.pass(time.Second)
	}
	if how != askedBefore && how != askedNothing {
		ask()
	}
	if how == askedAgain {
		h.first("t", "b", 150)
		h.pass(time.Second)
		ask()
	}
	h.first("s", "b", 200)
	h.begin("s", "b", 200, 0)
	return h.poll("s", "b", 200)
}
