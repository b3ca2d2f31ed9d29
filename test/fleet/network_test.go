package fleet

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"leasehold/internal/wiretest"
	"leasehold/target"
	"leasehold/test/fleet/check"
)

// breaks are the ways in which the network between a node and Redis fails.
func breaks() map[string][2]wiretest.Way {
	return map[string][2]wiretest.Way{
		"nothing passes":       {wiretest.Lose, wiretest.Lose},
		"commands vanish":      {wiretest.Lose, wiretest.Pass},
		"replies vanish":       {wiretest.Pass, wiretest.Lose},
		"commands arrive late": {wiretest.Hold, wiretest.Pass},
	}
}

// A link that fails for less than what is left of the leases costs none.
func TestAShortBreakOfTheLinkMovesNothing(t *testing.T) {
	t.Parallel()
	for name, way := range breaks() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFleet(t, plan{env: []string{"LEASEHOLD_REDIS_TIMEOUT=1s"}})
			ids := f.putMany(9)
			apart, w := f.linked("a", nil)
			nodes := append([]*node{apart}, f.start("b", "c")...)
			apart.ready()
			held := f.settled(10*time.Second, nodes...)
			from := f.target.Now()
			w.Set(way[0], way[1])
			wait(f.plan.ttl / 3)
			w.Heal()
			healed := f.target.Now()
			wait(2 * f.plan.ttl / 3)

			h := f.history()
			end := f.target.Now()
			f.pass("nothing moves", check.All(
				check.AcquiredOnce(h, ids, check.Window{From: from, To: end}, len(ids)),
				check.Gaps(h, ids, check.Window{From: from, To: end}, f.plan.ttl/3+3*f.plan.interval, 2*len(ids)),
			))
			for _, id := range of(held, apart) {
				if n := pollsOf(h, apart.id, id, healed, end); n < 2 {
					t.Errorf("%s was polled %d times in the %s after the break", id, n, (end - healed).Round(time.Millisecond))
				}
			}
			f.safe(50)
		})
	}
}

func pollsOf(h check.History, instance, id string, from, to time.Duration) int {
	n := 0
	for _, p := range h.Polls {
		if p.Session == id && p.Instance == instance && p.From >= from && p.From < to {
			n++
		}
	}
	return n
}

// A node that is cut off for more than its leases fails closed, the others take over in
// time, and it has its share again when the link is back.
func TestALongBreakOfTheLinkMovesItsSessions(t *testing.T) {
	long(t)
	for name, way := range breaks() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFleet(t, plan{ttl: 3 * time.Second, interval: 500 * time.Millisecond, env: []string{"LEASEHOLD_RECONCILE_INTERVAL=2s"}})
			ids := f.putMany(9)
			apart, w := f.linked("a", nil)
			nodes := append([]*node{apart}, f.start("b", "c")...)
			apart.ready()
			lost := of(f.settled(10*time.Second, nodes...), apart)
			before := f.pulse()
			w.Set(way[0], way[1])
			cut := f.target.Now()
			wait(f.plan.ttl * 9 / 4)
			w.Heal()
			healed := f.target.Now()
			// A node that is back, but did not take what was made free for it yet, counts as
			// full for a reconcile interval.
			f.settled(2*f.plan.ttl+3*time.Second, nodes...)
			wait(2 * f.plan.interval)

			h := f.history()
			bound := f.plan.ttl + f.plan.interval + 200*time.Millisecond
			noise := time.Second
			f.pass("takeover", check.All(
				check.Resumed(h, lost, cut, bound+noise, len(lost)),
				check.Gaps(h, ids, check.Window{From: cut, To: f.target.Now()}, bound+noise, 5*len(ids)),
			))
			t.Logf("lost sessions polled again: %s", elsewhere(h, lost, apart.id, cut))
			for _, p := range h.Polls {
				if p.Instance == apart.id && p.From > cut+f.plan.ttl && p.From < healed {
					t.Errorf("%s was polled %s after the cut", p.Session, p.From-cut)
				}
			}
			f.pass("safety", check.All(check.FailClosed(h, check.OwnerTolerance, 50), check.Overlaps(h, 50), check.Tokens(h, 50)))
			f.pass("tokens in Redis", neverFalls(h.Leases))
			f.flat(before)
		})
	}
}

// elsewhere tells after what time others polled the sessions.
func elsewhere(h check.History, ids []string, not string, after time.Duration) string {
	h.Polls = slices.DeleteFunc(slices.Clone(h.Polls), func(p target.Record) bool { return p.Instance == not })
	return firstPolls(h, ids, after)
}

// Redis dies while commands are on their way, and comes back with all that it had
// acknowledged, or with nothing.
// A poll in flight may use up the trust that is left when renewals fail, and not the
// margin; its successor's comes after it.
func TestPollsInFlightEndWithTheirTrust(t *testing.T) {
	t.Parallel()
	const margin = 600 * time.Millisecond
	f := newFleet(t, plan{env: []string{"LEASEHOLD_LEASE_SAFETY_MARGIN=" + margin.String()}})
	for i := range 6 {
		id := fmt.Sprintf("s%d", i)
		f.put(id, f.document(id, `,"timeout":"1m"`))
	}
	apart, w := f.linked("a", nil)
	nodes := append([]*node{apart}, f.start("b")...)
	apart.ready()
	lost := of(f.settled(10*time.Second, nodes...), apart)
	for _, id := range lost {
		f.target.Set(id, target.Behavior{Delay: time.Minute})
	}
	wait(2 * f.plan.interval)
	w.Set(wiretest.Lose, wiretest.Lose)
	cut := f.target.Now()
	wait(f.plan.ttl + f.plan.interval)

	h := f.history()
	var ended []target.Record
	for _, p := range h.Polls {
		if p.Instance != apart.id || p.From > cut || p.To < cut {
			continue
		}
		ended = append(ended, p)
		if left := f.plan.ttl - f.plan.ttl/3 - margin - time.Second; p.To-cut < left || !p.Gone {
			t.Errorf("%s ended %s after the cut, %s of trust were left: %+v", p.Session, p.To-cut, left, p)
		}
	}
	f.pass("in flight", check.Outlasted(check.History{Polls: ended, Leases: h.Leases}, margin, check.OwnerTolerance, len(lost)).Err())
	f.pass("resumed", check.Resumed(h, lost, cut, f.plan.ttl+f.plan.interval, len(lost)).Err())
	f.pass("safety", check.All(check.FailClosed(h, check.OwnerTolerance, len(lost)), check.Overlaps(h, len(lost)), check.Tokens(h, len(lost))))
}

func TestRedisDiesWithCommandsInFlight(t *testing.T) {
	long(t)
	for name, server := range map[string][]string{
		"and comes back with its data": {"--appendonly", "yes", "--appendfsync", "always"},
		"and comes back empty":         nil,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFleet(t, plan{ttl: 3 * time.Second, interval: 200 * time.Millisecond, server: server})
			ids := f.putMany(60)
			r := recorder(t)
			s := newStorm(f, 1, r.Tap, "a", "b", "c")
			nodes := s.calm()
			f.settled(10*time.Second, nodes...)
			bound := f.plan.ttl + f.plan.interval + 2*time.Second
			for i := range 4 {
				before := f.history()
				switch {
				case i%2 == 1: // commands wait in its sockets, and are never run
					f.redis.Pause()
					wait(100 * time.Millisecond)
				case i > 0: // what was held up comes all at once: it dies in the middle
					s.burst(200 * time.Millisecond)
				}
				died := time.Now()
				f.redis.Kill()
				wait(300 * time.Millisecond)
				if err := f.redis.Start(); err != nil {
					t.Fatal(err)
				}
				back := f.target.Now()
				until(t, 5*time.Second, "Redis answers", func() bool { return f.rdb.Ping(t.Context()).Err() == nil })
				if server == nil {
					r.Wiped(died, time.Now())
					f.putMany(60)
				}
				wait(bound)
				h := f.history()
				f.pass("polled again", check.Resumed(h, ids, back, bound, len(ids)).Err())
				f.neverFell(before, h)
			}
			f.settled(2*f.plan.ttl, nodes...)
			s.judge(1000)
			if report := f.legal(r, s.wires, 2000); report.Unknown == 0 {
				t.Error("no command was in flight when it died")
			}
		})
	}
}

// burst holds all commands up for a while, and lets them go.
func (s *storm) burst(d time.Duration) {
	for _, c := range s.seats {
		c.wire.Set(wiretest.Hold, wiretest.Pass)
	}
	wait(d)
	for _, c := range s.seats {
		c.wire.Heal()
	}
	wait(time.Duration(s.rand.IntN(3000)) * time.Microsecond)
}

// Two fleets of different prefixes on one Redis, with sessions and nodes of the same
// names, know nothing of each other.
func TestFleetsOfDifferentPrefixesAreApart(t *testing.T) {
	t.Parallel()
	left := newFleet(t, plan{ttl: 3 * time.Second, prefix: "left:"})
	right := newFleet(t, plan{ttl: 3 * time.Second, prefix: "right:", on: left.redis})
	fleets := []*fleet{left, right}
	nodes := map[*fleet][]*node{}
	ids := left.putMany(12)
	right.putMany(12)
	for _, f := range fleets {
		nodes[f] = f.start("a", "b", "c")
	}
	for _, f := range fleets {
		f.settled(10*time.Second, nodes[f]...)
	}
	calm := check.Window{From: right.target.Now()}
	died := left.target.Now()
	left.del(left.keys.Session("s0"))
	nodes[left][0].kill()
	wait(left.plan.ttl + left.plan.interval + time.Second)
	calm.To = right.target.Now()

	rest := ids[1:]
	if slices.Index(ids, "s0") != 0 {
		t.Fatal("the sessions have other names")
	}
	left.pass("takeover", check.Resumed(left.history(), rest, died, left.plan.ttl+left.plan.interval+time.Second, len(rest)).Err())
	h := right.history()
	right.pass("nothing happens to the other fleet", check.All(
		check.AcquiredOnce(h, ids, calm, len(ids)),
		check.Steady(h, ids, calm, 3*len(ids)),
		check.Gaps(h, ids, calm, right.plan.interval*2, 3*len(ids)),
		check.Spread(h, ids, idsOf(nodes[right]), calm, 0, 10),
	))
	for _, f := range fleets {
		f.safe(50)
	}
	apart(t, left, right, nodes)
}

// apart checks that every key belongs to one of the fleets, names none of the other's
// nodes, and that no node has logged anything of the other fleet's.
func apart(t *testing.T, left, right *fleet, nodes map[*fleet][]*node) {
	t.Helper()
	for _, key := range left.keysLike("*") {
		if !strings.HasPrefix(key, "left:") && !strings.HasPrefix(key, "right:") {
			t.Errorf("a key of no fleet: %s", key)
		}
	}
	for f, other := range map[*fleet]*fleet{left: right, right: left} {
		ours := idsOf(nodes[f])
		for id, holder := range f.holders() {
			if !slices.Contains(ours, holder) {
				t.Errorf("%s%s is held by %s", f.plan.prefix, id, holder)
			}
		}
		for _, n := range nodes[f] {
			for _, stranger := range idsOf(nodes[other]) {
				if lines := n.all(func(l line) bool { return strings.Contains(l.text, stranger) }); len(lines) > 0 {
					t.Errorf("%s%s knows %s: %s", f.plan.prefix, n.name, stranger, lines[0].text)
				}
			}
		}
	}
	if left := nodes[right][0].all(func(l line) bool { return strings.HasPrefix(l.Event, "member.expired") }); len(left) > 0 {
		t.Errorf("a node of the other fleet was missed: %s", left[0].text)
	}
}

// Fifty rounds of whatever may happen to processes and their links, several things at
// once; see [storm].
func TestFiftyRoundsOfFaults(t *testing.T) {
	long(t)
	f := newFleet(t, stormy())
	ids := f.putMany(60)
	for i, id := range ids {
		f.target.Set(id, target.Behavior{Delay: time.Duration(i%4) * 25 * time.Millisecond})
	}
	r := recorder(t)
	s := newStorm(f, seedOf(t), r.Tap, "a", "b", "c", "d", "e", "f")
	wait(2 * f.plan.ttl)
	begun := time.Now()
	for range 50 {
		s.round(f.plan.ttl)
	}
	t.Logf("50 rounds in %s", time.Since(begun).Round(time.Second))
	nodes := s.rest()
	w := check.Window{From: f.target.Now()}
	wait(4 * f.plan.interval)
	w.To = f.target.Now()
	if left := f.keysLike(f.keys.Node("*")); len(left) != len(nodes) {
		t.Errorf("heartbeats: %v", left)
	}
	h := f.history()
	f.pass("at rest", check.All(
		check.Gaps(h, ids, w, f.plan.interval*2, len(ids)),
		check.Spread(h, ids, idsOf(nodes), w, 1, 5),
		check.Steady(h, ids, w, len(ids)),
	))
	s.judge(2000)
	f.legal(r, s.wires, 3000)
}
