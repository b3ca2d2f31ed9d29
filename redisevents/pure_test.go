package redisevents

import (
	"strings"
	"testing"
	"time"

	"github.com/onsi/gomega"
	"pgregory.net/rapid"

	"leasehold/rediskey"
)

func TestParse(t *testing.T) {
	g := gomega.NewWithT(t)
	p := parser{keys: rediskey.Default(), db: 2}
	for _, c := range []struct {
		channel, payload string
		want             Event
	}{
		{"__keyevent@2__:expired", "poll:lease:a:b{c}", LeaseFreed{"a:b{c}", Expired}},
		{"__keyevent@2__:del", "poll:lease:s", LeaseFreed{"s", Deleted}},
		{"__keyevent@2__:rename_from", "poll:lease:s", LeaseFreed{"s", Deleted}},
		{"__keyevent@2__:evicted", "poll:lease:s", LeaseFreed{"s", Evicted}},
		{"__keyevent@2__:set", "poll:lease:s", nil},
		{"__keyevent@2__:expire", "poll:lease:s", nil},
		{"__keyspace@2__:poll:node:n", "set", NodeSeen{"n"}},
		{"__keyspace@2__:poll:node:n", "expire", nil},
		{"__keyspace@2__:poll:node:n", "expired", NodeGone{"n", Expired}},
		{"__keyspace@2__:poll:node:n", "del", NodeGone{"n", Deleted}},
		{"__keyevent@2__:expired", "poll:node:n", NodeGone{"n", Expired}},
		{"__keyspace@2__:poll:cordon:n", "set", NodeMarked{"n"}},
		{"__keyspace@2__:poll:cordon:n", "del", NodeMarked{"n"}},
		{"__keyspace@2__:poll:cordon:n", "expired", NodeMarked{"n"}},
		{"__keyspace@2__:poll:cordon:n", "expire", nil},
		{"__keyspace@2__:poll:info:n", "set", nil},
		{"__keyspace@2__:session:__:x", "set", SessionTouched{"__:x"}},
		{"__keyspace@2__:session:x", "hset", SessionTouched{"x"}},
		{"__keyspace@2__:session:x", "rename_to", SessionTouched{"x"}},
		{"__keyspace@2__:session:x", "expired", SessionTouched{"x"}},
		{"__keyspace@2__:session:x", "expire", nil},
		{"__keyspace@2__:session:x", "", nil},
		// Heard by key already.
		{"__keyevent@2__:del", "poll:node:n", nil},
		{"__keyevent@2__:del", "session:x", nil},
		{"__keyevent@2__:expired", "session:x", nil},
		{"__keyevent@2__:expired", "poll:state:{poll:lease:s}s", nil},
		{"__keyevent@2__:expired", "other:lease:s", nil},
		// Other databases, and what only looks like ours.
		{"__keyevent@0__:expired", "poll:lease:s", nil},
		{"__keyevent@22__:expired", "poll:lease:s", nil},
		{"__keyevent@02__:expired", "poll:lease:s", nil},
		{"__keyevent@__:expired", "poll:lease:s", nil},
		{"__keyevent@2:expired", "poll:lease:s", nil},
		{"poll:lease:s", "expired", nil},
		{"", "", nil},
	} {
		if c.want == nil {
			g.Expect(p.parse(c.channel, c.payload)).To(gomega.BeNil(), "%q %q", c.channel, c.payload)
			continue
		}
		g.Expect(p.parse(c.channel, c.payload)).To(gomega.Equal(c.want), "%q %q", c.channel, c.payload)
	}
}

// FuzzParse: no message panics, and one that means something is about a key that
// builds back from the event, in our database.
func FuzzParse(f *testing.F) {
	for _, s := range [][2]string{
		{"__keyevent@0__:expired", "poll:lease:s"},
		{"__keyspace@0__:session:x", "set"},
		{"__keyspace@0__:poll:node:", "del"},
		{"__keyevent@0__:", ""},
		{"__keyspace@", "\xff"},
	} {
		f.Add(s[0], s[1])
	}
	keys := rediskey.Default()
	p := parser{keys: keys, db: 0, takings: true}
	f.Fuzz(func(t *testing.T, channel, payload string) {
		e := p.parse(channel, payload)
		if e == nil {
			return
		}
		var key string
		switch e := e.(type) {
		case LeaseFreed:
			key = keys.Lease(e.Session)
		case LeaseTaken:
			key = keys.Lease(e.Session)
		case NodeSeen:
			key = keys.Node(e.Instance)
		case NodeGone:
			key = keys.Node(e.Instance)
		case NodeMarked:
			key = keys.Cordon(e.Instance)
		case SessionTouched:
			key = keys.Session(e.ID)
		case Gap:
			t.Fatalf("a message made a gap: %q %q", channel, payload)
		}
		event, ok := strings.CutPrefix(channel, "__keyevent@0__:")
		space := strings.HasPrefix(channel, "__keyspace@0__:"+key)
		if !space && (!ok || event == "" || payload != key) {
			t.Fatalf("%q %q is not about %q in database 0", channel, payload, key)
		}
	})
}

// TestFlagsUnion: nothing is dropped, nothing needed is missing, nothing else comes.
func TestFlagsUnion(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		have := rapid.StringOfN(rapid.RuneFrom([]rune("KEg$lshzxetdmnA")), 0, 8, -1).Draw(t, "have")
		union := unionFlags(have)
		if !strings.HasPrefix(union, have) {
			t.Fatalf("%q lost flags of %q", union, have)
		}
		for _, f := range "KEgx$e" {
			covered := strings.ContainsRune(union, f) ||
				(strings.Contains(union, "A") && f != 'K' && f != 'E')
			if !covered {
				t.Fatalf("%q lacks %c", union, f)
			}
		}
		if strings.Trim(union[len(have):], "KEgx$e") != "" {
			t.Fatalf("%q adds more to %q than is needed", union, have)
		}
		if MissingFlags(union) != "" {
			t.Fatalf("%q is not enough by itself", union)
		}
	})
}

func TestTakingsAreHeardWhereTheyAreWanted(t *testing.T) {
	g := gomega.NewWithT(t)
	names := func(takings bool) (names []string) {
		for _, c := range channelsOf(&Config{Keys: rediskey.Default(), DB: 2, Takings: takings}, "own") {
			names = append(names, c.name)
		}
		return names
	}
	g.Expect(names(true)).To(gomega.ContainElement("__keyevent@2__:set"))
	g.Expect(names(false)).NotTo(gomega.ContainElement("__keyevent@2__:set"))
	p := parser{keys: rediskey.Default(), db: 2, takings: true}
	g.Expect(p.parse("__keyevent@2__:set", "poll:lease:s")).To(gomega.Equal(LeaseTaken{"s"}))
	g.Expect(p.parse("__keyevent@2__:del", "poll:lease:s")).To(gomega.Equal(LeaseFreed{"s", Deleted}))
	for _, heardByKey := range []string{"session:s", "poll:node:n", "poll:state:{x}s", "other"} {
		g.Expect(p.parse("__keyevent@2__:set", heardByKey)).To(gomega.BeNil())
	}
}

func TestQueue(t *testing.T) {
	g := gomega.NewWithT(t)
	woken := 0
	q := newQueue(3, func() { woken++ })
	g.Expect(q.take()).To(gomega.BeNil())
	q.add(NodeSeen{"a"})
	q.add(NodeSeen{"a"})
	q.add(NodeGone{"a", Expired})
	g.Expect(woken).To(gomega.Equal(1), "once for a queue that is not empty")
	q.addGap(Gap{Reason: "one", Restarted: true})
	q.addGap(Gap{Reason: "two", Server: "b"})
	g.Expect(q.take()).To(gomega.Equal([]Event{
		Gap{Reason: "two", Restarted: true, Server: "b"}, NodeSeen{"a"}, NodeGone{"a", Expired},
	}))
	g.Expect(q.size()).To(gomega.Equal(0))

	for _, id := range []string{"1", "2", "3", "4", "5"} {
		q.add(SessionTouched{id})
	}
	g.Expect(woken).To(gomega.Equal(2))
	taken := q.take()
	g.Expect(taken[0]).To(gomega.Equal(Gap{Reason: reasonOverflow}))
	g.Expect(len(taken)).To(gomega.BeNumerically("<=", 4))

	// A gap that waits keeps its facts when the queue overflows after it.
	q.addGap(Gap{Reason: "restart", Restarted: true, Server: "c"})
	for _, id := range []string{"1", "2", "3", "4"} {
		q.add(SessionTouched{id})
	}
	g.Expect(q.take()[0]).To(gomega.Equal(Gap{Reason: reasonOverflow, Restarted: true, Server: "c"}))
	q.add(SessionTouched{"1"})
	g.Expect(q.take()).To(gomega.Equal([]Event{SessionTouched{"1"}}), "what was taken is new again")
}

// TestQueueLosesNothing: whatever is added is taken, or a gap is.
func TestQueueLosesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(1, 5).Draw(t, "limit")
		woken := 0
		q := newQueue(limit, func() { woken++ })
		expected := map[Event]bool{}
		empty := true
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			if rapid.Bool().Draw(t, "add") {
				e := SessionTouched{rapid.StringN(1, 1, 1).Draw(t, "id")}
				q.add(e)
				if expected[e], empty = true, false; woken != 1 {
					t.Fatalf("woken %d times since the last take", woken)
				}
				continue
			}
			taken := q.take()
			if (len(taken) == 0) != empty || len(taken) > limit+1 {
				t.Fatalf("took %d, limit %d, empty %v", len(taken), limit, empty)
			}
			gap := false
			for _, e := range taken {
				if _, ok := e.(Gap); ok {
					gap = true
				}
				delete(expected, e)
			}
			if len(expected) > 0 && !gap {
				t.Fatalf("lost %v without a gap", expected)
			}
			expected, woken, empty = map[Event]bool{}, 0, true
		}
	})
}

func TestIdentity(t *testing.T) {
	g := gomega.NewWithT(t)
	one := parseIdentity("# Server\r\nrun_id:aa\r\nuptime_in_seconds:90\r\nnonsense\r\n:\r\n" +
		"# Replication\r\nrole:master\r\nmaster_replid:rr\r\n")
	g.Expect(one).To(gomega.Equal(identity{runID: "aa", role: "master", replID: "rr"}))
	g.Expect(one.changed(one)).To(gomega.BeFalse())
	for _, other := range []identity{
		{runID: "bb", role: "master", replID: "rr"},
		{runID: "aa", role: "slave", replID: "rr"},
		{runID: "aa", role: "master", replID: "ss"},
	} {
		g.Expect(other.changed(one)).To(gomega.BeTrue(), "%v", other)
	}
	g.Expect(identity{}.changed(one)).To(gomega.BeFalse(), "who does not tell is nobody else")
	g.Expect(one.changed(identity{})).To(gomega.BeFalse())
}

func TestPulse(t *testing.T) {
	g := gomega.NewWithT(t)
	start := time.Now()
	p := newPulse(time.Second, "me", 100, nil)
	stopped := func(after time.Duration) bool { return p.proofs().stopped(start.Add(after)) }
	g.Expect(stopped(time.Hour)).To(gomega.BeFalse(), "nothing was sent")

	n, text := p.draw(false)
	p.accepted(n, start)
	for _, wrong := range []string{"me 101", "me 99", "me what", "me", "", "100", " 100"} {
		p.heard(wrong, start)
	}
	g.Expect(stopped(999 * time.Millisecond)).To(gomega.BeFalse())
	g.Expect(stopped(time.Second)).To(gomega.BeTrue(), "what was never drawn proves nothing")
	p.knows(identity{runID: "run"})
	p.heard("other 100", start)
	g.Expect(stopped(time.Second)).To(gomega.BeTrue(), "those of others don't say how late they come")
	p.heard(text, start)
	g.Expect(stopped(time.Hour)).To(gomega.BeFalse())

	// Heard before the publisher learned that it was accepted.
	n, text = p.draw(false)
	p.heard(text, start)
	p.accepted(n, start)
	g.Expect(stopped(time.Hour)).To(gomega.BeFalse())

	// Later canaries do not excuse the oldest, and hearing a later one does.
	first, _ := p.draw(false)
	p.accepted(first, start)
	second, later := p.draw(false)
	p.accepted(second, start.Add(900*time.Millisecond))
	g.Expect(stopped(time.Second)).To(gomega.BeTrue())
	p.heard(later, start)
	g.Expect(stopped(time.Hour)).To(gomega.BeFalse())

	// No longer counted: gone from that server. Never counted: means nothing.
	g.Expect(p.left(0)).To(gomega.BeFalse())
	g.Expect(p.left(1)).To(gomega.BeFalse())
	g.Expect(p.left(0)).To(gomega.BeTrue())
}

// Who hears a canary needs to send none, and who hears that the server is the same needs
// not ask: of an equal server, not of another one.
func TestPulsesOfOthers(t *testing.T) {
	g := gomega.NewWithT(t)
	server := identity{runID: "run", role: "master", replID: "repl"}
	me, other := newPulse(time.Second, "me", 5, nil), newPulse(time.Second, "other", 9, nil)
	at := func(s int) time.Time { return time.Unix(int64(s), 0) }
	me.knows(server)
	_, silent := other.draw(true)
	other.knows(server)
	_, says := other.draw(true)
	_, alive := other.draw(false)
	other.knows(identity{runID: "run", role: "slave", replID: "repl"})
	_, otherwise := other.draw(true)

	for i, c := range []struct {
		text    string
		vouches bool
	}{{silent, false}, {says, true}, {alive, false}, {otherwise, false}, {"other 9 ", false}, {"other 9  ", false}} {
		now := at(10 + i)
		me.heard(c.text, now)
		g.Expect(me.proofs().alive).To(gomega.Equal(now), "%q", c.text)
		g.Expect(me.proofs().vouched.Equal(now)).To(gomega.Equal(c.vouches), "%q", c.text)
	}
	me.knows(identity{})
	me.heard("other 9 "+identity{}.String(), at(30))
	g.Expect(me.proofs().alive).To(gomega.Equal(at(15)), "it may be of another server")
	g.Expect(me.proofs().vouched).To(gomega.Equal(at(11)), "nobody can vouch for a server that does not tell")
}

func TestTurns(t *testing.T) {
	g := gomega.NewWithT(t)
	draw := func(name string) (all []time.Duration) {
		turns := newTurns(name)
		for range 100 {
			d := turns.wait(time.Second)
			g.Expect(d).To(gomega.And(gomega.BeNumerically(">=", 750*time.Millisecond), gomega.BeNumerically("<=", time.Second)))
			all = append(all, d)
		}
		return all
	}
	g.Expect(draw("a")).To(gomega.Equal(draw("a")))
	g.Expect(draw("a")).NotTo(gomega.Equal(draw("b")))
	g.Expect(draw("")).NotTo(gomega.Equal(draw("")))
	start := time.Now()
	g.Expect(due(start, start.Add(749*time.Millisecond), time.Second)).To(gomega.BeFalse())
	g.Expect(due(start, start.Add(750*time.Millisecond), time.Second)).To(gomega.BeTrue())
}

// A master found after the start took slots over: what it lost nobody knows.
func TestGapOfMasterThatJoined(t *testing.T) {
	g := gomega.NewWithT(t)
	cfg := Config{}.withDefaults()
	w := &watch{cfg: &cfg, queue: newQueue(10, nil), joined: true}
	w.gap(identity{runID: "a"})
	g.Expect(w.queue.take()).To(gomega.Equal([]Event{Gap{Restarted: true, Server: "a"}}))
	w.gap(identity{runID: "a"})
	g.Expect(w.queue.take()).To(gomega.Equal([]Event{Gap{Server: "a"}}))
}
