package sim

import (
	"testing"
	"time"

	"leasehold/internal/nodetest"
)

// What explains a history must explain no more than that.
func TestHistoriesWithExcuses(t *testing.T) {
	histories(t, map[string]history{
		"a poll that ends when its process goes on after its trust": {"", func(h *hand) {
			p := freezes(h)
			h.wake("a")
			h.end(p)
		}},
		"a poll that ends a minute after its process went on": {"fail closed", func(h *hand) {
			p := freezes(h)
			h.wake("a")
			h.pass(time.Minute)
			h.end(p)
		}},
		"a poll beside that of a process that stood still twice, and went on in between": {"two polls at once", func(h *hand) {
			h.begin("s", "a", 100, 1)
			h.poll("s", "a", 100)
			h.freeze("a")
			h.pass(handTTL + blur)
			h.wake("a")
			h.pass(time.Second)
			h.freeze("a")
			h.take("s", "b")
			h.begin("s", "b", 101, 10_001)
			h.poll("s", "b", 101)
		}},
	})
}

// freezes has a process stand still from a poll's start until its trust is over.
func freezes(h *hand) *nodetest.Poll {
	h.begin("s", "a", 100, 1)
	p := h.poll("s", "a", 100)
	h.freeze("a")
	h.pass(handTTL)
	return p
}
