package sim

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"leasehold/internal/nodetest"
)

// The judge must convict a history that is wrong, by the check that is meant for it,
// and acquit the same one without the fault.
func TestHistories(t *testing.T) {
	histories(t, map[string]history{
		"two polls, a renewal, a move": {"", func(h *hand) {
			h.whole("s", "a", 100, 1)
			h.pass(8 * time.Second)
			h.renew("s", "a", 100)
			h.whole("s", "a", 100, 10_001)
			h.release("s", "a", 100)
			h.take("s", "b")
			h.pass(10 * time.Second)
			h.whole("s", "b", 101, 20_001)
		}},
		"a lease that ran out is taken over": {"", func(h *hand) {
			h.pass(handTTL + blur)
			h.take("s", "b")
			h.whole("s", "b", 101, 1)
		}},

		"a poll beside another": {"two polls at once", func(h *hand) {
			h.begin("s", "a", 100, 1)
			h.poll("s", "a", 100)
			h.pass(time.Second)
			h.begin("s", "a", 100, 10_001)
			h.poll("s", "a", 100)
		}},
		"a poll beside that of a process that stands still, within its trust": {"two polls at once", func(h *hand) {
			h.begin("s", "a", 100, 1)
			h.poll("s", "a", 100)
			h.freeze("a")
			h.pass(time.Second)
			h.meddle("DEL", leaseKey("s"))
			h.take("s", "b")
			h.begin("s", "b", 101, 10_001)
			h.poll("s", "b", 101)
		}},
		"a poll beside that of a process that stands still, within the poll's timeout": {"two polls at once", func(h *hand) {
			besideTimeout(h, 4*time.Second)
		}},
		"a poll beside that of a process that stands still, after the poll's timeout": {"", func(h *hand) {
			besideTimeout(h, 5*time.Second)
		}},
		"a poll beside that of a process that stands still, after its trust": {"", func(h *hand) {
			h.begin("s", "a", 100, 1)
			h.poll("s", "a", 100)
			h.freeze("a")
			h.pass(handTTL + blur)
			h.take("s", "b")
			h.begin("s", "b", 101, 10_001)
			h.poll("s", "b", 101)
		}},
		"a poll beside another after a restart that forgot": {"two polls at once", func(h *hand) {
			h.begin("s", "a", 100, 1)
			h.poll("s", "a", 100)
			h.pass(time.Second)
			h.another(truth{})
			h.first("s", "b", 200)
			h.begin("s", "b", 200, 0)
			h.poll("s", "b", 200)
		}},
		"a poll beside another after a restart that forgot, of a Redis that does not say so": {"", func(h *hand) {
			h.anonymous = true
			besideRestart(h, askedBefore)
		}},
		"a poll beside another by a node that started after a restart that forgot, and was not told": {"", func(h *hand) {
			besideRestart(h, asked)
		}},
		"a poll beside another by such a node which did not ask": {"two polls at once", func(h *hand) {
			besideRestart(h, askedNothing)
		}},
		"a poll beside another by such a node that was told": {"two polls at once", func(h *hand) {
			besideRestart(h, askedAndTold)
		}},
		"a poll beside another by such a node that was told when the note had ended": {"", func(h *hand) {
			besideRestart(h, askedLate)
		}},
		"a poll beside another by such a node that asked once more after its first claim": {"two polls at once", func(h *hand) {
			besideRestart(h, askedAgain)
		}},
		"the same node's poll after one more such restart": {"", func(h *hand) {
			first := besideRestart(h, asked)
			h.another(truth{})
			h.end(first)
			h.first("s", "b", 300)
			h.begin("s", "b", 300, 0)
			h.poll("s", "b", 300)
		}},
		"a poll beside another by a node that started before a restart that forgot": {"two polls at once", func(h *hand) {
			besideRestart(h, askedBefore)
		}},
		"a poll beside another after a flush": {"", func(h *hand) {
			h.begin("s", "a", 100, 1)
			h.poll("s", "a", 100)
			h.pass(time.Second)
			h.meddle("FLUSHALL")
			h.first("s", "b", 200)
			h.begin("s", "b", 200, 0)
			h.poll("s", "b", 200)
		}},
		"a poll beside one that began after the flush": {"two polls at once", func(h *hand) {
			h.meddle("FLUSHALL")
			h.pass(time.Second)
			h.first("s", "a", 200)
			h.begin("s", "a", 200, 0)
			h.poll("s", "a", 200)
			h.pass(time.Second)
			h.begin("s", "a", 200, 1)
			h.poll("s", "a", 200)
		}},

		"a poll renewed by a server that came back with its lease": {"", func(h *hand) {
			h.end(thereAndBack(h, true))
		}},
		"a poll that nobody renewed on the server that came back with its lease": {"fail closed", func(h *hand) {
			h.end(thereAndBack(h, false))
		}},
		"a poll at the end of its trust": {"", func(h *hand) {
			h.begin("s", "a", 100, 1)
			h.pass(handTTL - handMargin)
			h.poll("s", "a", 100)
		}},
		"a poll after the end of its trust": {"fail closed", func(h *hand) {
			h.begin("s", "a", 100, 1)
			h.pass(handTTL - handMargin + 1)
			h.poll("s", "a", 100)
		}},
		"a poll that outlives its trust": {"fail closed", func(h *hand) {
			h.begin("s", "a", 100, 1)
			p := h.poll("s", "a", 100)
			h.pass(handTTL - handMargin + 1)
			h.end(p)
		}},
		"a poll that outlives its trust, of a process that stood still": {"", func(h *hand) {
			h.begin("s", "a", 100, 1)
			p := h.poll("s", "a", 100)
			h.freeze("a")
			h.pass(handTTL - handMargin + 1)
			h.end(p)
		}},
		"a poll soon after its renewal was refused": {"", func(h *hand) {
			h.refuse("s", "a", 100)
			h.pass(time.Second)
			h.begin("s", "a", 100, 1)
			h.poll("s", "a", 100)
		}},
		"a poll long after its renewal was refused": {"fail closed", func(h *hand) {
			h.refuse("s", "a", 100)
			h.pass(time.Second + 1)
			h.begin("s", "a", 100, 1)
			h.poll("s", "a", 100)
		}},
		"a poll long after its renewal was refused, again and again": {"fail closed", func(h *hand) {
			h.refuse("s", "a", 100)
			h.pass(time.Second)
			h.refuse("s", "a", 100)
			h.pass(1)
			h.begin("s", "a", 100, 1)
			h.poll("s", "a", 100)
		}},
		"a poll long after its renewal was refused, of a process that stood still": {"", func(h *hand) {
			h.refuse("s", "a", 100)
			h.pass(time.Second)
			h.begin("s", "a", 100, 1)
			h.freeze("a")
			h.pass(time.Second)
			h.poll("s", "a", 100)
		}},
		"a poll after its renewal was refused, and then accepted": {"", func(h *hand) {
			h.refuse("s", "a", 100)
			h.pass(2 * time.Second)
			h.renew("s", "a", 100)
			h.begin("s", "a", 100, 1)
			h.poll("s", "a", 100)
		}},
		"a poll after its renewal was refused, under another lease with the same token": {"", func(h *hand) {
			h.refuse("s", "a", 100)
			h.another(truth{token: 99, replica: true})
			h.pass(handTTL)
			h.take("s", "a")
			h.begin("s", "a", 100, 1)
			h.poll("s", "a", 100)
		}},
		"a poll after another's renewal was refused": {"", func(h *hand) {
			h.refuse("s", "b", 99)
			h.pass(2 * time.Second)
			h.begin("s", "a", 100, 1)
			h.poll("s", "a", 100)
		}},
		"a poll with a token that was never given": {"fail closed", func(h *hand) {
			h.begin("s", "a", 100, 1)
			h.start("s", 99)
			h.poll("s", "a", 99)
		}},
		"a poll by another than the holder": {"fail closed", func(h *hand) {
			h.begin("s", "a", 100, 1)
			h.poll("s", "b", 100)
		}},
		"a poll after the lease was given back": {"fail closed", func(h *hand) {
			h.begin("s", "a", 100, 1)
			h.release("s", "a", 100)
			h.poll("s", "a", 100)
		}},
		"a poll after the engine took the lease away": {"", func(h *hand) {
			h.begin("s", "a", 100, 1)
			h.meddle("DEL", leaseKey("s"))
			h.take("s", "b")
			h.poll("s", "a", 100)
		}},

		"a poll without begin": {"checked", func(h *hand) { h.poll("s", "a", 100) }},
		"two polls of one begin": {"checked", func(h *hand) {
			h.begin("s", "a", 100, 1)
			h.end(h.poll("s", "a", 100))
			h.poll("s", "a", 100)
		}},
		"a start told again by a server that lost its end": {"checked", func(h *hand) {
			h.begin("s", "a", 100, 1)
			h.end(h.poll("s", "a", 100))
			h.release("s", "a", 100)
			h.take("s", "a")
			h.another(truth{holder: "a", token: 100, left: handTTL})
			h.poll("s", "a", 100)
		}},
		"begin passes with an old token":        {"begin", func(h *hand) { h.begin("s", "a", 99, 1) }},
		"begin passes for another":              {"begin", func(h *hand) { h.begin("s", "b", 100, 1) }},
		"begin passes after the lease ran out":  {"begin", func(h *hand) { h.pass(handTTL + blur); h.begin("s", "a", 100, 1) }},
		"begin passes after the lease was back": {"begin", func(h *hand) { h.release("s", "a", 100); h.begin("s", "a", 100, 1) }},
		"a slot before its time":                {"slot", func(h *hand) { h.begin("s", "a", 100, h.clock.UnixMilli()+1) }},
		"a slot in its time":                    {"", func(h *hand) { h.begin("s", "a", 100, h.clock.UnixMilli()) }},
		"a slot is given twice": {"slot", func(h *hand) {
			h.whole("s", "a", 100, 1)
			h.begin("s", "a", 100, 1)
		}},
		"a slot is given again to an attempt that had no answer": {"", func(h *hand) {
			h.begin("s", "a", 100, 1)
			h.pass(time.Second)
			h.whole("s", "a", 100, 1)
		}},
		"a poll for a start that had a poll": {"checked", func(h *hand) {
			h.begin("s", "a", 100, 1)
			h.end(h.poll("s", "a", 100))
			h.poll("s", "a", 100)
		}},
		"a slot is given again after it was given back": {"", func(h *hand) {
			h.begin("s", "a", 100, 1)
			at := h.clock
			h.end(h.poll("s", "a", 100))
			h.finish("s", "a", 100, at, 1)
			h.begin("s", "a", 100, 1)
		}},
		"a task's slot is given again, since no run was recorded": {"", func(h *hand) {
			h.tasks["s"] = true
			h.begin("s", "a", 100, 1)
			h.end(h.poll("s", "a", 100))
			h.release("s", "a", 100)
			h.take("s", "b")
			h.whole("s", "b", 101, 1)
			h.pass(10 * time.Second)
			h.whole("s", "b", 101, 10_001)
		}},
		"a poll's slot is given again, since no poll was recorded": {"slot", func(h *hand) {
			h.begin("s", "a", 100, 1)
			h.end(h.poll("s", "a", 100))
			h.release("s", "a", 100)
			h.take("s", "b")
			h.begin("s", "b", 101, 1)
		}},
		"a task's slot is given again after a run was recorded": {"slot", func(h *hand) {
			h.tasks["s"] = true
			h.whole("s", "a", 100, 1)
			h.begin("s", "a", 100, 1)
		}},
		"a task's slot is given up although no run was recorded": {"slot", func(h *hand) {
			h.tasks["s"] = true
			h.begin("s", "a", 100, 1)
			h.end(h.poll("s", "a", 100))
			h.release("s", "a", 100)
			h.take("s", "b")
			h.pass(10 * time.Second)
			h.begin("s", "b", 101, 10_001)
		}},
		"a result under a lease that the engine deprived of its expiry": {"", func(h *hand) {
			h.meddle("PERSIST", leaseKey("s"))
			h.pass(time.Second)
			h.begin("s", "a", 100, 1)
			at := h.clock
			h.end(h.poll("s", "a", 100))
			h.pass(handTTL + blur)
			h.finish("s", "a", 100, at, 10_001)
		}},
		"a result under a lease that has ended, since it was renewed": {"fence", func(h *hand) {
			h.meddle("PERSIST", leaseKey("s"))
			h.pass(time.Second)
			h.renew("s", "a", 100)
			h.begin("s", "a", 100, 1)
			at := h.clock
			h.end(h.poll("s", "a", 100))
			h.pass(handTTL + blur)
			h.finish("s", "a", 100, at, 10_001)
		}},
		"a result of a former holder": {"fence", func(h *hand) {
			h.begin("s", "a", 100, 1)
			at := h.clock
			h.end(h.poll("s", "a", 100))
			h.release("s", "a", 100)
			h.take("s", "b")
			h.finish("s", "a", 100, at, 10_001)
		}},
		"a result of an earlier start": {"fence", func(h *hand) {
			at := h.clock
			h.whole("s", "a", 100, 1)
			h.begin("s", "a", 100, 10_001)
			h.finish("s", "a", 100, at, 10_001)
		}},

		"an acquisition without a new token": {"token", func(h *hand) {
			h.release("s", "a", 100)
			h.run("acquire", "s", "b", "0", ms(handTTL), "")
			h.inner("SET", leaseKey("s"), "b", "NX", "PX", ms(handTTL))
			h.begin("s", "b", 100, 1)
		}},
		"a token that rises by two": {"token", func(h *hand) { h.inner("HINCRBY", stateKey("s"), "version", "2") }},
		"a token that is set to the next": {"", func(h *hand) {
			h.release("s", "a", 100)
			h.first("s", "b", 101)
			h.whole("s", "b", 101, 1)
		}},
		"a token that is set to the one after": {"token", func(h *hand) { h.release("s", "a", 100); h.first("s", "b", 102) }},
		"a token that jumps": {"token", func(h *hand) {
			h.release("s", "a", 100)
			h.first("s", "b", 5000)
		}},
		"a token that falls after Redis forgot": {"token", func(h *hand) { h.another(truth{}); h.first("s", "b", 100) }},
		"a token that rises after Redis forgot": {"", func(h *hand) { h.another(truth{}); h.first("s", "b", 101) }},
		"a token that was lost is given again": {"", func(h *hand) {
			h.release("s", "a", 100)
			h.take("s", "b") // 101
			h.another(truth{token: 100})
			h.take("s", "c") // 101 again
			h.whole("s", "c", 101, 1)
		}},

		"a lease that goes round and round": {"churn", func(h *hand) {
			for i := range int64(churn) {
				h.pass(handTTL / churn / 2)
				h.release("s", "a", 100+i)
				h.take("s", "a")
			}
		}},
		"a lease that goes round slowly": {"", func(h *hand) {
			for i := range int64(2 * churn) {
				h.pass(handTTL/churn + time.Second)
				h.release("s", "a", 100+i)
				h.take("s", "a")
			}
		}},
		"a lease that lives is acquired": {"stolen", func(h *hand) { h.pass(handTTL - blur - 1); h.take("s", "b") }},
		"a release of another's lease":   {"release", func(h *hand) { h.release("s", "b", 99) }},
		"a release in one call with one of no token": {"", func(h *hand) {
			sha := shaOf("-- release does something\n")
			h.send("EVALSHA", sha, "4", leaseKey("s"), stateKey("s"), leaseKey("s"), stateKey("s"), "a", "0", "1", "a", "100", "1")
			h.inner("DEL", leaseKey("s"))
		}},
		"a release by an old token": {"release", func(h *hand) { h.release("s", "a", 99) }},
		"a poll whose begin had passed when its lease was ended by force": {"", func(h *hand) {
			h.begin("s", "a", 100, 1)
			h.pass(time.Millisecond)
			h.force("s", "a", 100)
			h.poll("s", "a", 100)
		}},
		"a poll after its lease was given back by its holder": {"fail closed", func(h *hand) {
			h.begin("s", "a", 100, 1)
			h.pass(time.Millisecond)
			h.release("s", "a", 100)
			h.poll("s", "a", 100)
		}},
		"a forced release while the poll goes on": {"", func(h *hand) {
			h.begin("s", "a", 100, 0)
			p := h.poll("s", "a", 100)
			h.pass(time.Second)
			h.force("s", "a", 100)
			h.end(p)
		}},
		"a release while the poll goes on": {"release", func(h *hand) {
			h.begin("s", "a", 100, 1)
			h.poll("s", "a", 100)
			h.release("s", "a", 100)
		}},
		"a renewal by another":   {"renewal", func(h *hand) { h.renew("s", "b", 100) }},
		"a renewal that revives": {"renewal", func(h *hand) { h.pass(handTTL + blur); h.renew("s", "a", 100) }},
		"a lease that a renewal makes": {"foreign", func(h *hand) {
			h.run("renew", "s", ms(handTTL), "0", "a", "100", "")
			h.inner("SET", leaseKey("s"), "a", "PX", ms(handTTL))
		}},

		"KEYS":                      {"foreign", func(h *hand) { h.send("KEYS", "poll:*") }},
		"a heartbeat":               {"", func(h *hand) { h.send("SET", "poll:node:a", "1", "PX", "1000"); h.send("DEL", "poll:node:a") }},
		"a document written":        {"foreign", func(h *hand) { h.send("SET", "session:s", "{}") }},
		"a key of another's":        {"foreign", func(h *hand) { h.send("SET", "elsewhere", "1") }},
		"all data removed":          {"foreign", func(h *hand) { h.send("FLUSHALL") }},
		"a script on a document":    {"foreign", func(h *hand) { h.inner("DEL", "session:s") }},
		"a lease of a foreign type": {"foreign", func(h *hand) { h.inner("HSET", leaseKey("s"), "a", "1") }},
		"what the engine does":      {"", func(h *hand) { h.meddle("SET", "session:s", "{}"); h.meddle("KEYS", "*") }},

		"Redis has what the ledger has": {"", func(h *hand) { h.compareOne(h.ledger("s"), truth{holder: "a", token: 100, left: handTTL}) }},
		"Redis has another holder":      {"judge", func(h *hand) { h.compareOne(h.ledger("s"), truth{holder: "b", token: 100, left: handTTL}) }},
		"Redis has no lease":            {"judge", func(h *hand) { h.compareOne(h.ledger("s"), truth{token: 100}) }},
		"Redis has another counter":     {"judge", func(h *hand) { h.compareOne(h.ledger("s"), truth{holder: "a", token: 99, left: handTTL}) }},
		"Redis has a lease that ran out": {"judge", func(h *hand) {
			h.pass(handTTL + blur)
			h.compareOne(h.ledger("s"), truth{holder: "a", token: 100, left: 1})
		}},
		"Redis lost what the engine took":  {"", func(h *hand) { h.meddle("DEL", leaseKey("s")); h.compareOne(h.ledger("s"), truth{token: 100}) }},
		"Redis has a lease without expiry": {"", func(h *hand) { h.pass(time.Hour); h.compareOne(h.ledger("s"), truth{holder: "a", token: 100}) }},
	})
}

// history begins with node a, which acquired the lease of session s with token 100.
type history struct {
	check string // empty: nothing is wrong
	play  func(h *hand)
}

func histories(t *testing.T, all map[string]history) {
	t.Helper()
	for name, c := range all {
		t.Run(name, func(t *testing.T) {
			h := newHand(t)
			h.first("s", "a", 100)
			c.play(h)
			h.step()
			verdict(t, h.err(), c.check)
		})
	}
}

// verdict compares what the judge says with the check that should have convicted.
func verdict(t *testing.T, err error, check string) {
	t.Helper()
	switch {
	case err == nil && check != "":
		t.Fatalf("acquitted, want %q", check)
	case err != nil && check == "":
		t.Fatalf("convicted: %s", err)
	case err != nil && !strings.HasPrefix(err.Error(), check+":"):
		t.Fatalf("convicted of something else than %q: %s", check, err)
	}
}

// thereAndBack has a poll outlast two fail-overs: to a server where another gets the
// lease, and back to the one where its own was and may be renewed. The poll goes on for
// longer than the lease was worth when it began.
func thereAndBack(h *hand, renewed bool) *nodetest.Poll {
	h.begin("s", "a", 100, 1)
	p := h.poll("s", "a", 100)
	h.pass(time.Second)
	h.another(truth{})
	h.first("s", "b", 200)
	h.pass(time.Second)
	h.another(truth{holder: "a", token: 100, left: handTTL - 2*time.Second})
	if renewed {
		h.renew("s", "a", 100)
	}
	h.pass(handTTL - handMargin)
	return p
}

func TestTimeThatStandsStillIsNoticed(t *testing.T) {
	h := newHand(t)
	h.poll("s", "a", 100)
	defer func() {
		if r := fmt.Sprint(recover()); !strings.Contains(r, "no end: ") || !strings.Contains(r, "checked: a polls") {
			t.Errorf("panic with %s", r)
		}
	}()
	for range endless {
		h.send("CONFIG")
	}
	t.Error("no alarm")
}

// start writes down a start that begin never let pass.
func (h *hand) start(id string, token int64) { h.ledger(id).start = start{token: token} }

// another puts another server in place, with what it has of "s".
func (h *hand) another(t truth) {
	h.forget()
	h.follow(h.ledger("s"), t)
}

func TestAStoryIsTold(t *testing.T) {
	h := newHand(t)
	h.first("s", "a", 100)
	h.poll("s", "a", 100)
	h.step()
	for _, want := range []string{"checked: a polls with token 100", `"s" at 00:00:00.000`, "acquired by a", "poll by a (token 100)"} {
		if err := h.err(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in: %v", want, err)
		}
	}
}

// besideTimeout has b poll so long after a poll of 5 s at most, of a process that stands
// still and whose lease was forced away.
func besideTimeout(h *hand, after time.Duration) {
	h.begin("s", "a", 100, 1)
	h.poll("s", "a", 100).Until = h.clock.Add(5 * time.Second)
	h.freeze("a")
	h.pass(after)
	h.force("s", "a", 100)
	h.take("s", "b")
	h.begin("s", "b", 101, 10_001)
	h.poll("s", "b", 101)
}
