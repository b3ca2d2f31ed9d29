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

		"a begin for another, long after data was changed": {"begin", func(h *hand) {
			changedLongAgo(h)
			h.begin("s", "b", 100, 1)
		}},
		"a begin for another, after data was changed": {"", func(h *hand) {
			h.meddle("PERSIST", leaseKey("s"))
			h.begin("s", "b", 100, 1)
		}},
		"a renewal by another, long after data was changed":   {"renewal", func(h *hand) { changedLongAgo(h); h.renew("s", "b", 100) }},
		"a renewal that revives, long after data was changed": {"renewal", func(h *hand) { changedLongAgo(h); h.pass(handTTL + blur); h.renew("s", "a", 100) }},
		"a release of another's, long after data was changed": {"release", func(h *hand) { changedLongAgo(h); h.release("s", "b", 99) }},
		"Redis has no lease, long after data was changed":     {"judge", func(h *hand) { changedLongAgo(h); h.compareOne(h.ledger("s"), truth{token: 100}) }},
		"Redis has another holder, long after another change": {"judge", func(h *hand) {
			changedLongAgo(h)
			h.compareOne(h.ledger("s"), truth{holder: "b", token: 100, left: handTTL})
		}},
		"Redis has another counter, long after another change": {"judge", func(h *hand) {
			changedLongAgo(h)
			h.compareOne(h.ledger("s"), truth{holder: "a", token: 99, left: handTTL})
		}},
		"a result of another in the stream, long after data was changed": {"fence", func(h *hand) {
			changedLongAgo(h)
			h.inner("XADD", stream, "MAXLEN", "~", "10", "*", "session", "s", "token", "100", "event", `{"data":{"holder":"b"}}`)
		}},
		"a begin and a renewal by the new token of a lease that was found without its counter": {"", func(h *hand) {
			h.meddle("DEL", stateKey("s"))
			h.pass(time.Second)
			h.run("acquire", "s", "a", "0", ms(handTTL), "")
			h.inner("PEXPIRE", leaseKey("s"), ms(handTTL))
			h.inner("HSET", stateKey("s"), "version", "200")
			h.renew("s", "a", 200)
			h.begin("s", "a", 200, 1)
		}},

		"a renewal by another after a restart with all data": {"renewal", func(h *hand) { h.reloaded(); h.renew("s", "b", 100) }},
		"a poll beside another by a node that was first heard of after a restart with all data": {"two polls at once", func(h *hand) {
			h.begin("s", "a", 100, 1)
			h.poll("s", "a", 100)
			h.reloaded()
			h.send("PTTL", "poll:loss")
			beside(h)
		}},

		"a poll beside another of which a server that does not say which it is knew nothing": {"", func(h *hand) {
			unmarked(h, func() { h.renew("s", "a", 100) })
		}},
		"a poll beside another of which such a server was told by a renewal": {"two polls at once", func(h *hand) {
			unmarked(h, func() { h.renewBusy("s", "a", 100, time.Minute) })
		}},
		"a poll beside another for which such a server was told to wait less long": {"", func(h *hand) {
			unmarked(h, func() { h.renewBusy("s", "a", 100, time.Second); h.pass(2 * time.Second) })
		}},
		"a poll beside another that began while a flush hid from its node whose the session was": {"", func(h *hand) { misled(h, false) }},
		"a poll beside another that began after its node had given the session back": {"two polls at once", func(h *hand) {
			misled(h, true)
		}},
		"a poll beside another after its start was lost": {"two polls at once", func(h *hand) {
			lossOf(h, truth{token: 100, last: "1"}, truth{token: 100})
		}},
		"a poll beside another after its start was lost, by a node that started afterwards": {"", func(h *hand) {
			lossOf(h, truth{token: 100, last: "1"}, truth{token: 100}, func() { h.send("PTTL", "poll:loss") })
		}},
		"a poll beside another after its start was lost by a Redis that does not say which it is": {"", func(h *hand) {
			h.anonymous = true
			lossOf(h, truth{token: 100, last: "1"}, truth{token: 100})
		}},
		"a poll beside another after a fail-over that lost another session's": {"two polls at once", func(h *hand) {
			lossOf(h, truth{token: 100, busy: 100, last: ms(time.Duration(h.clock.UnixNano()))}, truth{token: 99})
		}},
		"a poll beside another after a fail-over to a server that never had the session": {"two polls at once", func(h *hand) {
			lossOf(h, truth{replica: true}, truth{replica: true})
		}},

		"a finish that makes a start known again which a server lost": {"", func(h *hand) { finishAgain(h, "finish", 0) }},
		"a finish that makes another start known":                     {"fence", func(h *hand) { finishAgain(h, "finish", time.Second) }},
		"a renewal that makes a start known":                          {"foreign", func(h *hand) { finishAgain(h, "renew", 0) }},
	})
}

// finishAgain records the result of a poll by a script that writes its start first, which
// was so much later than it was.
func finishAgain(h *hand, script string, later time.Duration) {
	at := h.clock.Add(later)
	h.begin("s", "a", 100, 1)
	h.end(h.poll("s", "a", 100))
	h.run(script, "s", "a", "100")
	h.inner("HSET", stateKey("s"), "last", text(at.UnixMilli()))
	h.finish("s", "a", 100, at, 10_001)
}

// unmarked has a node poll beside another, of whose poll another server was told in
// between, or not.
func unmarked(h *hand, tell func()) {
	h.anonymous = true
	h.begin("s", "a", 100, 1)
	h.poll("s", "a", 100)
	h.pass(time.Second)
	h.another(truth{holder: "a", token: 100, left: handTTL})
	h.pass(time.Second)
	tell()
	beside(h)
}

// lossOf has a node poll beside another after a fail-over, and what was left then of the
// session and of another one.
func lossOf(h *hand, of, other truth, then ...func()) {
	h.first("t", "a", 100)
	h.begin("s", "a", 100, 1)
	h.poll("s", "a", 100)
	h.pass(time.Second)
	h.another(of)
	h.follow(h.ledger("t"), other)
	for _, f := range then {
		f()
	}
	h.first("s", "b", 200)
	h.begin("s", "b", 200, 0)
	h.poll("s", "b", 200)
}

// beside has a node get the lease that somebody else ends, and poll.
func beside(h *hand) {
	h.run("release", "s", "a", "100", "forced")
	h.inner("DEL", leaseKey("s"))
	h.take("s", "b")
	h.begin("s", "b", 101, 10_001)
	h.poll("s", "b", 101)
}

// changedLongAgo has the engine change a lease, which was renewed since.
func changedLongAgo(h *hand) {
	h.meddle("PERSIST", leaseKey("s"))
	h.pass(time.Second)
	h.renew("s", "a", 100)
	h.pass(time.Second)
}

// freezes has a process stand still from a poll's start until its trust is over.
func freezes(h *hand) *nodetest.Poll {
	h.begin("s", "a", 100, 1)
	p := h.poll("s", "a", 100)
	h.freeze("a")
	h.pass(handTTL)
	return p
}

// misled has b poll after a flush that a was not told of, and then Redis restarted empty:
// a takes the session again, which it had all the time for all it knew, unless it had
// given it back before.
func misled(h *hand, back bool) {
	if back {
		h.release("s", "a", 100)
	}
	h.pass(time.Second)
	h.meddle("FLUSHALL")
	h.pass(time.Second)
	h.first("s", "b", 200)
	h.begin("s", "b", 200, 0)
	h.poll("s", "b", 200)
	h.pass(time.Second)
	h.another(truth{})
	h.first("s", "a", 300)
	h.begin("s", "a", 300, 0)
	h.poll("s", "a", 300)
}
