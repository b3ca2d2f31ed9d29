package sim

import (
	"fmt"
	"maps"
	"testing"
	"time"

	"leasehold/internal/nodetest"
)

// stage is a settled fleet by hand: nodes a, b and c, sessions s0 to s5 of 10 s, each
// polled for a second at a time, which was watched for a minute.
type stage struct {
	*hand
	scene
}

const (
	stageSessions = 6
	stageRounds   = 6
)

func stageOwner(i int) string { return string(rune('a' + i%3)) }

func newStage(t *testing.T) *stage {
	t.Helper()
	h := newHand(t)
	s := &stage{hand: h, scene: scene{
		nodes: []string{"a", "b", "c"}, beats: []string{"a", "b", "c"}, leases: map[string]string{},
	}}
	for i := range stageSessions {
		id := fmt.Sprintf("s%d", i)
		s.docs = append(s.docs, sessionDoc{id: id, polled: true, interval: 10 * time.Second, timeout: 5 * time.Second, ttl: handTTL})
		s.leases[id] = stageOwner(i)
		h.first(id, stageOwner(i), 100)
	}
	h.watch()
	h.pass(time.Second)
	s.settled = h.clock
	start := h.clock
	for round := range stageRounds {
		h.clock = start.Add(time.Duration(round) * 10 * time.Second)
		for i := range stageSessions {
			id := fmt.Sprintf("s%d", i)
			p := &nodetest.Poll{Session: id, Instance: stageOwner(i), Token: 100, Start: h.clock, Over: h.clock.Add(time.Second), OK: true}
			h.ledger(id).polls = append(h.ledger(id).polls, p)
			h.ledger(id).receipts = append(h.ledger(id).receipts, &receipt{poll: p, recorded: true, streamed: true})
			h.ledger(id).current().extended = h.clock
		}
	}
	h.pass(9 * time.Second)
	return s
}

// succeed gives s1 a new owner, so long after a poll that was in flight when all had to
// be settled.
func succeed(s *stage, after time.Duration) {
	l := s.ledger("s1")
	p := l.polls[0]
	p.Start = p.Start.Add(-100 * time.Millisecond)
	l.grants = append(l.grants, &grant{holder: "b", token: 101, begun: p.Over.Add(after), extended: s.clock, ttl: handTTL})
}

// releases gives s1, which is to be released after failures, a new owner after its third
// poll, and has the next one be as late as that may be.
func releases(s *stage, ok bool) {
	l := s.ledger("s1")
	s.docs[1].release = true
	l.polls[2].OK = ok
	l.grants = append(l.grants, &grant{holder: "b", token: 101, begun: l.polls[2].Over.Add(3 * time.Second), extended: s.clock, ttl: handTTL})
}

// polls are those of a session.
func (s *stage) polls(id string) *[]*nodetest.Poll { return &s.ledger(id).polls }

// become is the one change of membership, which moves sessions from one to another.
func (s *stage) become(kind, who string, moves map[string]string) {
	s.change = &change{kind: kind, who: who, at: s.settled, from: maps.Clone(s.leases)}
	for id, to := range moves {
		g := s.ledger(id).current()
		g.ended = s.settled.Add(time.Second)
		s.ledger(id).grants = append(s.ledger(id).grants, &grant{
			holder: to, token: 101, begun: g.ended.Add(time.Millisecond), extended: s.clock, ttl: handTTL,
		})
		s.leases[id] = to
	}
	s.settled = s.settled.Add(10 * time.Second) // it settles
}

// leave takes a node away.
func (s *stage) leave(name string) {
	var nodes []string
	for _, n := range s.nodes {
		if n != name {
			nodes = append(nodes, n)
		}
	}
	s.nodes, s.beats = nodes, nodes
}

// die has a node be dead from the beginning.
func (s *stage) die(name string) { s.frozen[name] = []stand{{}} }

func (s *stage) died() {
	s.become("kill", "c", map[string]string{"s2": "a", "s5": "b"})
	s.leave("c")
}

func TestCalms(t *testing.T) {
	for name, c := range map[string]struct {
		check string
		spoil func(s *stage)
	}{
		"a fleet that has settled": {"", func(*stage) {}},

		"a session that nobody polls any more": {"liveness", func(s *stage) { *s.polls("s1") = (*s.polls("s1"))[:4] }},
		"a session that nobody ever polled":    {"liveness", func(s *stage) { *s.polls("s1") = nil }},
		"a session without a lease":            {"liveness", func(s *stage) { delete(s.leases, "s1") }},
		"a lease of a node that is dead":       {"liveness", func(s *stage) { s.leases["s1"] = "z" }},
		"an owner that changed without a cause": {"liveness", func(s *stage) {
			l := s.ledger("s1")
			l.grants = append(l.grants, &grant{holder: "b", token: 101, begun: s.settled.Add(time.Second), extended: s.clock, ttl: handTTL})
		}},
		"an owner that came after a poll that failed, where that releases":       {"", func(s *stage) { releases(s, false) }},
		"an owner that came after a poll that succeeded, where failures release": {"liveness", func(s *stage) { releases(s, true) }},
		"an owner that waited for the end of a poll":                             {"", func(s *stage) { succeed(s, time.Millisecond) }},
		"an owner that came long after it":                                       {"liveness", func(s *stage) { succeed(s, latest) }},

		"a slot that was left out": {"rhythm", func(s *stage) {
			p := s.polls("s1")
			*p = append((*p)[:2:2], (*p)[3:]...)
		}},
		"a slot that died with its node":        {"", func(s *stage) { stillborn(s); s.die("z") }},
		"a slot that a node began and left out": {"rhythm", stillborn},
		"a slot of a task that died with its node": {"rhythm", func(s *stage) {
			stillborn(s)
			s.die("z")
			s.tasks["s1"] = true
		}},
		"a slot after one that died with its node": {"rhythm", func(s *stage) { stillborn(s); s.die("z"); drop(s, 2) }},
		"a poll too many": {"rhythm", func(s *stage) {
			p := s.polls("s1")
			extra := *(*p)[2]
			extra.Start, extra.Over = extra.Start.Add(5*time.Second), extra.Over.Add(5*time.Second)
			*p = append((*p)[:3:3], append([]*nodetest.Poll{&extra}, (*p)[3:]...)...)
		}},
		"a session polled only at the end": {"rhythm", func(s *stage) {
			p := s.polls("s1")
			move(s, "s1", 0, -time.Minute)
			last := &nodetest.Poll{Session: "s1", Instance: stageOwner(1), Token: 100, Start: s.clock.Add(-time.Millisecond)}
			*p = append((*p)[:1:1], last)
		}},
		"a poll that is late, since a start before all was settled had none": {"", func(s *stage) {
			move(s, "s1", 0, -21*time.Second)
			s.ledger("s1").spent = []start{{by: "z", token: 100, seen: s.settled.Add(-time.Second)}}
			for n := 1; n < stageRounds; n++ {
				move(s, "s1", n, -time.Second)
			}
		}},
		"a late poll":                 {"rhythm", func(s *stage) { move(s, "s1", 3, 500*time.Millisecond) }},
		"a poll a little late":        {"", func(s *stage) { move(s, "s1", 3, 300*time.Millisecond) }},
		"a poll as late as an answer": {"", func(s *stage) { s.slowReply = 100 * time.Millisecond; move(s, "s1", 3, 450*time.Millisecond) }},
		"a poll later than an answer": {"rhythm", func(s *stage) { s.slowReply = 10 * time.Millisecond; move(s, "s1", 3, 450*time.Millisecond) }},
		"an early poll after one whose start Redis lost": {"", func(s *stage) {
			for n := 3; n < len(*s.polls("s1")); n++ {
				move(s, "s1", n, -600*time.Millisecond)
			}
			s.ledger("s1").rewound = (*s.polls("s1"))[2].Start
		}},
		"an early poll after Redis lost one before": {"rhythm", func(s *stage) {
			move(s, "s1", 3, -600*time.Millisecond)
			s.ledger("s1").rewound = (*s.polls("s1"))[2].Start.Add(-1)
		}},
		"an early poll":               {"rhythm", func(s *stage) { move(s, "s1", 3, -600*time.Millisecond) }},
		"an overrun drops its slot":   {"", func(s *stage) { overrun(s, 15*time.Second); drop(s, 3) }},
		"an overrun drops too many":   {"rhythm", func(s *stage) { overrun(s, 15*time.Second); drop(s, 3); drop(s, 3) }},
		"a failed poll tried again":   {"", func(s *stage) { fail(s, 9*time.Second) }},
		"a failed poll tried at once": {"rhythm", func(s *stage) { fail(s, 1100*time.Millisecond) }},

		"a result that was not recorded":         {"result", func(s *stage) { s.ledger("s1").receipts[2].recorded = false }},
		"a result that is not in the stream":     {"result", func(s *stage) { s.ledger("s1").receipts[2].streamed = false }},
		"a poll that was canceled has no result": {"", func(s *stage) { *s.ledger("s1").receipts[2] = receipt{poll: (*s.polls("s1"))[2], canceled: true} }},
		"a process that died has no result": {"", func(s *stage) {
			s.ledger("s1").receipts[2].recorded = false
			s.die("b")
		}},
		"a result whose session the engine deleted": {"", func(s *stage) {
			s.ledger("s1").receipts[2].recorded = false
			s.ledger("s1").meddle = (*s.polls("s1"))[2].Over
		}},
		"a result that is on its way": {"", func(s *stage) {
			s.ledger("s1").receipts[5].recorded = false
			s.clock = (*s.polls("s1"))[5].Over.Add(patience - 1)
		}},
		"a result that is too long on its way": {"result", func(s *stage) {
			s.ledger("s1").receipts[5].recorded = false
			s.clock = (*s.polls("s1"))[5].Over.Add(patience)
		}},
		"a task's run that was not recorded": {"", func(s *stage) {
			s.ledger("s1").receipts[2].recorded = false
			s.tasks["s1"] = true
		}},

		"a paused session that is left alone": {"", func(s *stage) { pause(s); delete(s.leases, "s1") }},
		"a paused session that is polled":     {"idle", func(s *stage) { s.docs[1].polled = false; delete(s.leases, "s1") }},
		"a paused session that is leased":     {"idle", func(s *stage) { pause(s) }},
		"a paused session whose dead owner's lease never ends": {"", func(s *stage) {
			pause(s)
			s.leases["s1"], s.endless = "z", map[string]bool{"s1": true}
		}},
		"a paused session whose live owner's lease never ends": {"idle", func(s *stage) {
			pause(s)
			s.endless = map[string]bool{"s1": true}
		}},
		"a session without document": {"idle", func(s *stage) { s.docs = s.docs[1:] }},

		"a node with too many":      {"balance", func(s *stage) { s.leases["s1"] = "a"; s.leases["s4"] = "a" }},
		"a heartbeat of another":    {"heartbeats", func(s *stage) { s.beats = []string{"a", "b", "z"} }},
		"a heartbeat of a dead one": {"heartbeats", func(s *stage) { s.beats = append(s.beats, "z") }},

		"a death":                     {"", (*stage).died},
		"a takeover that is too late": {"failover", func(s *stage) { s.died(); late(s, "s2", handTTL+takeover+1) }},
		"a takeover just in time":     {"", func(s *stage) { s.died(); late(s, "s2", handTTL+takeover) }},

		"a drain":                    {"", func(s *stage) { s.died(); s.change.kind = "drain" }},
		"a drain that keeps a lease": {"drain", func(s *stage) { s.died(); s.change.kind = "drain"; s.ledger("s2").grants[0].ended = time.Time{} }},
		"a lease that lies free":     {"drain", func(s *stage) { s.died(); s.change.kind = "drain"; late(s, "s2", time.Second+latest+1) }},
		"leases that lie free a bit": {"drain", func(s *stage) {
			s.died()
			s.change.kind = "drain"
			late(s, "s2", 1100*time.Millisecond)
			late(s, "s5", 1100*time.Millisecond)
		}},
		"a join moves what it must": {"", func(s *stage) {
			s.become("join", "c", map[string]string{"s2": "c", "s5": "c"})
			s.change.from["s2"], s.change.from["s5"] = "a", "b"
		}},
		"forged events move nothing": {"", func(s *stage) { s.become("events forged", "expired", nil) }},
		"forged events move a lease": {"events", func(s *stage) { s.become("events forged", "expired", map[string]string{"s1": "a", "s0": "b"}) }},
		"forged events end a lease":  {"events", func(s *stage) { s.become("events forged", "expired", map[string]string{"s1": "b"}) }},
		"a join moves half a fleet":  {"moves", func(s *stage) { overmove(s) }},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			c.spoil(s)
			s.judgeCalm(s.scene)
			s.step()
			verdict(t, s.err(), c.check)
		})
	}
}

// What Redis and the target show must come together as one receipt.
func TestReceipts(t *testing.T) {
	h := newHand(t)
	h.first("s", "a", 100)
	h.whole("s", "a", 100, 1)
	h.pass(9 * time.Second)
	h.begin("s", "a", 100, 10_001)
	p := h.poll("s", "a", 100)
	h.pass(time.Second)
	h.end(p)
	for i, want := range []bool{true, false} {
		if r := h.ledger("s").receipts[i]; r.recorded != want || r.streamed != want {
			t.Errorf("the receipt of poll %d is %+v", i, r)
		}
	}
}

// move shifts a poll.
func move(s *stage, id string, n int, d time.Duration) {
	p := (*s.polls(id))[n]
	p.Start, p.Over = p.Start.Add(d), p.Over.Add(d)
}

// overrun lets the third poll of s1 take longer.
func overrun(s *stage, d time.Duration) {
	p := (*s.polls("s1"))[2]
	p.Over = p.Start.Add(d)
}

// stillborn lets node z begin what would be the third poll of s1, and nobody poll.
func stillborn(s *stage) {
	l := s.ledger("s1")
	l.spent = append(l.spent, start{by: "z", token: 100, seen: (*s.polls("s1"))[2].Start})
	drop(s, 2)
}

func drop(s *stage, n int) {
	p := s.polls("s1")
	*p = append((*p)[:n:n], (*p)[n+1:]...)
}

// fail lets the third poll of s1 fail, and the next come so long after its start.
func fail(s *stage, next time.Duration) {
	p := *s.polls("s1")
	p[2].OK = false
	for n := 3; n < stageRounds; n++ {
		move(s, "s1", n, next-10*time.Second)
	}
}

// pause is long ago.
func pause(s *stage) {
	s.docs[1].polled = false
	*s.polls("s1") = nil
}

// late lets the present grant have begun so long after the change.
func late(s *stage, id string, d time.Duration) {
	g := s.ledger(id).current()
	g.begun = s.change.at.Add(d)
	s.settled = later(s.settled, g.begun.Add(time.Second))
}

// overmove is a fleet with thirty more sessions, of which a join moves 21, none of them to
// the newcomer.
func overmove(s *stage) {
	moves := map[string]string{}
	for i := range 30 {
		id := fmt.Sprintf("x%d", i)
		s.leases[id] = stageOwner(i)
		s.first(id, stageOwner(i), 100)
		if i < 21 {
			moves[id] = stageOwner(i + 1)
		}
		s.docs = append(s.docs, sessionDoc{id: id, polled: true, changed: s.clock})
	}
	s.become("join", "z", moves)
}

func TestSpread(t *testing.T) {
	for name, c := range map[string]struct {
		check string
		heirs map[string]int
	}{
		"as even as can be":     {"", map[string]int{"a": 10, "b": 10, "d": 10}},
		"as uneven as dice are": {"", map[string]int{"a": 18, "b": 8, "d": 4}},
		"all to one":            {"spread", map[string]int{"a": 30}},
		"few say nothing":       {"", map[string]int{"a": 4}},
		"none":                  {"", nil},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHand(t)
			h.spread(c.heirs, 3, &change{kind: "kill", who: "c"})
			verdict(t, h.err(), c.check)
		})
	}
}

// How late a first poll may be depends on the storm before, and no other.
func TestSlowReplies(t *testing.T) {
	slow := func(by time.Duration) applied { return applied{Fault: Fault{Kind: "link slow", By: Span(by)}} }
	b := &bailiff{w: &world{applied: []applied{slow(time.Minute), slow(time.Second), slow(time.Millisecond)}}, settled: 1}
	if got := b.slowReply(); got != 2*time.Second {
		t.Errorf("answers may be %s late", got)
	}
}
