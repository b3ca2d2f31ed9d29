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
		for _, c := range channelsOf(&Config{Keys: rediskey.Default(), DB: 2, Takings: takings}, "canary") {
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
	p := newPulse(time.Second, 100, nil)
	g.Expect(p.stopped(start.Add(time.Hour))).To(gomega.BeFalse(), "nothing was sent")

	n, text := p.draw()
	g.Expect(p.accepted(n, start, 1)).To(gomega.BeFalse())
	p.heard("101")  // not drawn yet
	p.heard("99")   // never drawn
	p.heard("what") // no number
	g.Expect(p.stopped(start.Add(999 * time.Millisecond))).To(gomega.BeFalse())
	g.Expect(p.stopped(start.Add(time.Second))).To(gomega.BeTrue(), "strangers' messages prove nothing")
	p.heard(text)
	g.Expect(p.stopped(start.Add(time.Hour))).To(gomega.BeFalse())

	// Heard before the publisher learned that it was accepted.
	n, text = p.draw()
	p.heard(text)
	p.accepted(n, start, 1)
	g.Expect(p.stopped(start.Add(time.Hour))).To(gomega.BeFalse())

	// Later canaries do not excuse the oldest, and hearing a later one does.
	first, _ := p.draw()
	p.accepted(first, start, 1)
	second, later := p.draw()
	p.accepted(second, start.Add(900*time.Millisecond), 1)
	g.Expect(p.stopped(start.Add(time.Second))).To(gomega.BeTrue())
	p.heard(later)
	g.Expect(p.stopped(start.Add(time.Hour))).To(gomega.BeFalse())

	// No longer counted: gone from that server. Never counted: means nothing.
	n, _ = p.draw()
	g.Expect(p.accepted(n, start, 0)).To(gomega.BeTrue())
	g.Expect(newPulse(time.Second, 0, nil).accepted(0, start, 0)).To(gomega.BeFalse())
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
