package sim

import (
	"testing"
	"time"

	"leasehold/internal/nodetest"
	"leasehold/schedule"
)

// slotAt is a moment of the first minutes of a history, in ms.
func slotAt(minutes int) int64 {
	return time.Date(2030, 1, 1, 0, minutes, 0, 0, time.UTC).UnixMilli()
}

// until lets the time pass until so long after a slot.
func (h *hand) until(minutes int, after time.Duration) {
	for at := time.UnixMilli(slotAt(minutes)).UTC().Add(after); h.clock.Before(at); {
		h.pass(min(handTTL/2, at.Sub(h.clock)))
		h.renew("s", "a", 100)
	}
}

// serve begins a run of a task with a calendar for a slot, which stays due.
func (h *hand) serve(slot int64) {
	h.run("begin", "s", "a", "100", "120000", "5000", "7", "1", "*/2 UTC", "0", "0")
	h.recorded(slot)
}

// recorded is what begin writes of a task's start in the end.
func (h *hand) recorded(slot int64) {
	now := text(h.clock.UnixMilli())
	h.inner("HSET", stateKey("s"), "last", now, "slot", text(slot), "due", text(slot), "interval", "120000",
		"busy", "100", "busy_max", now, "busy_until", now)
}

// want asks for a run.
func (h *hand) want() (at int64) {
	h.run("ask", "s", "1000000")
	h.inner("HSET", stateKey("s"), "asked", text(h.clock.UnixMilli()))
	return h.clock.UnixMilli()
}

// grant begins the run that was asked for.
func (h *hand) grant(slot int64) {
	h.run("begin", "s", "a", "100", "120000", "5000", "7", "1", "*/2 UTC", "0", "0")
	h.inner("HDEL", stateKey("s"), "asked")
	h.recorded(slot)
}

// done polls for the start that was recorded, for a second, and has the result recorded.
func (h *hand) done(due int64) {
	at := h.clock
	p := h.poll("s", "a", 100)
	h.pass(time.Second)
	h.end(p)
	h.finish("s", "a", 100, at, due)
}

// failed is done, with a failure, after which the slot is still due.
func (h *hand) failed(due int64) {
	at := h.clock
	p := h.poll("s", "a", 100)
	h.pass(time.Second)
	h.end(p)
	h.run("finish", "s", "a", "100")
	h.inner("HSET", stateKey("s"), "due", text(due))
	h.inner("HSET", stateKey("s"), "failures", "1", "ok", "0", "started", text(at.UnixMilli()))
}

// The calendar of these has a slot every other minute.
func TestHistoriesOfTasks(t *testing.T) {
	type histories map[string]struct {
		check string // empty: nothing is wrong
		play  func(h *hand)
	}
	play := func(t *testing.T, all histories, skip bool) {
		t.Helper()
		for name, c := range all {
			t.Run(name, func(t *testing.T) {
				h := newHand(t)
				h.rules, h.tasks["s"] = rules{calendar: calendar{every: 2}, skip: skip}, !skip
				h.first("s", "a", 100)
				h.until(2, 0)
				h.serve(slotAt(2))
				h.done(slotAt(4))
				c.play(h)
				h.step()
				verdict(t, h.err(), c.check)
			})
		}
	}
	both := histories{
		"the next slot": {"", func(h *hand) {
			h.until(4, time.Millisecond)
			h.serve(slotAt(4))
			h.done(slotAt(6))
		}},
		"a moment that is no slot": {"calendar", func(h *hand) {
			h.until(5, 0)
			h.inner("HSET", stateKey("s"), "due", text(slotAt(5)))
			h.serve(slotAt(5))
		}},
		"a run that was asked for, and the slots as they were": {"", func(h *hand) {
			h.until(3, 0)
			at := h.want()
			h.pass(time.Second)
			h.grant(at)
			h.done(slotAt(4))
			h.until(4, 0)
			h.serve(slotAt(4))
			h.done(slotAt(6))
		}},
		"a run that was asked for, and a slot that was served before": {"calendar", func(h *hand) {
			h.until(3, 0)
			at := h.want()
			h.grant(at)
			h.done(slotAt(2))
			h.serve(slotAt(2))
		}},
		"a run that was asked for fails, and is tried again": {"", func(h *hand) {
			h.until(3, 0)
			at := h.want()
			h.grant(at)
			h.failed(at)
			h.pass(time.Second)
			h.serve(at)
			h.done(slotAt(4))
		}},
		"a run that was asked for in the millisecond of a slot": {"", func(h *hand) {
			h.until(4, 0)
			h.serve(slotAt(4))
			at := h.want()
			if at != slotAt(4) {
				panic(at)
			}
			h.done(slotAt(6))
			h.grant(at)
		}},
		"a run that was asked for is begun again": {"slot", func(h *hand) {
			h.until(3, 0)
			at := h.want()
			h.grant(at)
			h.done(slotAt(4))
			h.serve(at)
		}},
		"a run for another moment than that of the wish": {"run now", func(h *hand) {
			h.until(3, 0)
			at := h.want()
			h.pass(time.Second)
			h.grant(at - 1)
		}},
		"a wish that is forgotten with the next slot": {"run now", func(h *hand) {
			h.until(3, 0)
			h.want()
			h.until(4, 0)
			h.grant(slotAt(4))
		}},
		"a wish that finish forgets": {"run now", func(h *hand) {
			h.until(4, 0)
			h.want()
			h.run("finish", "s", "a", "100")
			h.inner("HDEL", stateKey("s"), "asked")
		}},
		"a wish that begin forgets without a start": {"run now", func(h *hand) {
			h.until(3, 0)
			h.want()
			h.run("begin", "s", "a", "100", "120000", "5000", "7", "1", "*/2 UTC", "0", "0")
			h.inner("HDEL", stateKey("s"), "asked")
			h.inner("PEXPIRE", stateKey("s"), "1000")
		}},
		"a wish that begin made": {"foreign", func(h *hand) {
			h.run("begin", "s", "a", "100", "120000", "5000", "7", "1", "*/2 UTC", "0", "0")
			h.inner("HSET", stateKey("s"), "asked", "1")
		}},
	}
	play(t, both, false)
	play(t, both, true)
	play(t, histories{
		"a slot that was missed is served late": {"", func(h *hand) {
			h.until(9, 0)
			h.serve(slotAt(4))
			h.done(slotAt(10))
		}},
		"a run that was given back, when that was": {"calendar", func(h *hand) {
			h.until(4, 0)
			h.serve(slotAt(4))
			h.failed(slotAt(4) + 1000)
			h.serve(slotAt(4) + 1000)
		}},
		"a slot that was missed is dropped": {"misfire", func(h *hand) {
			h.until(9, 0)
			h.inner("HSET", stateKey("s"), "due", text(slotAt(10)))
			h.until(10, 0)
			h.serve(slotAt(10))
		}},
		"a slot that was missed is dropped, after somebody changed the data": {"", func(h *hand) {
			h.until(9, 0)
			h.meddle("DEL", stateKey("s"))
			h.inner("HSET", stateKey("s"), "due", text(slotAt(10)))
			h.until(10, 0)
			h.serve(slotAt(10))
		}},
	}, false)
	play(t, histories{
		"a slot is served a minute late": {"", func(h *hand) {
			h.until(5, 0)
			h.serve(slotAt(4))
		}},
		"a slot is served later than that": {"misfire", func(h *hand) {
			h.until(5, time.Millisecond)
			h.serve(slotAt(4))
		}},
		"a slot is served again later, since its run failed": {"", func(h *hand) {
			h.until(4, 0)
			h.serve(slotAt(4))
			h.failed(slotAt(4))
			h.until(5, time.Second)
			h.serve(slotAt(4))
		}},
		"a run that was given back, when that was": {"", func(h *hand) {
			h.until(4, 0)
			h.serve(slotAt(4))
			h.failed(slotAt(4) + 1000)
			h.serve(slotAt(4) + 1000)
		}},
		"a slot that was missed is skipped": {"", func(h *hand) {
			h.until(9, 0)
			h.inner("HSET", stateKey("s"), "due", text(slotAt(10)))
			h.until(10, 0)
			h.serve(slotAt(10))
		}},
	}, true)
}

func TestACalmOfTasks(t *testing.T) {
	for name, c := range map[string]struct {
		check string
		set   func(s *stage)
	}{
		"a slot that is served": {"", func(s *stage) { // at the minute, which is when the stage ends
			*s.polls("s0") = append(*s.polls("s0"), &nodetest.Poll{Session: "s0", Instance: "a", Token: 100, Start: s.clock})
		}},
		"a slot that is not served": {"calendar", func(*stage) {}},
		"a slot while a run goes on": {"", func(s *stage) {
			p := (*s.polls("s0"))[stageRounds-1]
			p.Over = s.clock.Add(time.Second)
		}},
		"a slot after a run that failed": {"", func(s *stage) {
			p := (*s.polls("s0"))[stageRounds-1]
			p.OK = false
		}},
		"a slot before the first one": {"", func(s *stage) { s.ledger("s0").plan.first = s.clock.Add(time.Second) }},
		"a wish that was granted": {"", func(s *stage) {
			s.ledger("s1").wish = wish{}
			s.docs[0].calendar = calendar{}
		}},
		"a wish that was not granted": {"run now", func(s *stage) {
			s.ledger("s1").wish = wish{at: "1", seen: s.settled.Add(-time.Second)}
			s.docs[0].calendar = calendar{}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			s.docs[0].calendar = calendar{every: 1}
			c.set(s)
			s.pass(time.Second / 2)
			s.judgeCalm(s.scene)
			s.step()
			verdict(t, s.err(), c.check)
		})
	}
}

// What the judge reckons is what the product's library does.
func TestCalendarsOfDocuments(t *testing.T) {
	found := 0
	for seed := range uint64(40) {
		s := DrawAs(seed, normal)
		for i := range s.Sessions {
			d := s.newDocument(i)
			if d.Calendar.every == 0 {
				continue
			}
			found++
			c, err := schedule.ParseCalendar(d.Calendar.expression(), d.Calendar.zone)
			if err != nil {
				t.Fatal(err)
			}
			at := time.Date(2000, 1, 1, 0, 0, int(seed), 0, time.UTC)
			for range 100 {
				if got, want := d.Calendar.next(at), c.Next(at); !got.Equal(want) {
					t.Fatalf("%q in %q: after %s comes %s, not %s", d.Calendar.expression(), d.Calendar.zone, at, want, got)
				}
				at = d.Calendar.next(at)
			}
		}
	}
	if found == 0 {
		t.Error("no document has a calendar")
	}
}
