package fleet

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"leasehold/target"
	"leasehold/test/fleet/check"
)

func TestAFrozenNodeComesBackWithoutItsSessions(t *testing.T) {
	t.Parallel()
	f := newFleet(t, plan{replica: true})
	ids := f.putMany(9)
	nodes := f.start("a", "b", "c")
	held := f.settled(10*time.Second, nodes...)
	wait(f.plan.interval)
	frozen := nodes[0]
	f.freeze(frozen, of(held, frozen), nil)
	f.pass("owner", check.Owners(f.history(), check.OwnerTolerance, 100).Err())
	f.safe(100)
	f.settledAgain(ids, nodes)
}

func TestAPollOfAFrozenNodeIsLeftAlone(t *testing.T) {
	t.Parallel()
	f := newFleet(t, plan{ttl: 3 * time.Second})
	ids := f.putMany(6)
	nodes := f.start("a", "b")
	held := f.settled(10*time.Second, nodes...)
	frozen := nodes[0]
	mine := of(held, frozen)
	open := mine[0]
	f.hold(open, 2*f.plan.ttl)
	f.freeze(frozen, mine, func(p target.Record, stop time.Duration) bool {
		return p.Session == open && p.Instance == frozen.id && p.From < stop && p.To > stop
	})
	f.settledAgain(ids, nodes)
}

// freeze stops a node for 1.7 TTL, lets it go on, and judges all that happened. A poll
// that was frozen open may be excused from having had the target for itself.
func (f *fleet) freeze(n *node, lost []string, excused func(p target.Record, stop time.Duration) bool) {
	f.t.Helper()
	before := map[string]int64{}
	for _, s := range f.samples() {
		if s.Holder == n.id {
			before[s.Session] = int64(s.Token)
		}
	}
	n.pause()
	stop := f.target.Now()
	wait(f.plan.ttl * 17 / 10)
	n.proceed()
	cont := f.target.Now()
	resumed := time.Now()
	until(f.t, 2*f.plan.ttl, "the node has its share again", func() bool {
		time.Sleep(20 * time.Millisecond)
		return even(f.holders(), len(f.known()), f.nodes)
	})
	f.t.Logf("its share is back after %s", time.Since(resumed).Round(time.Millisecond))
	wait(3 * f.plan.interval)

	h := f.history()
	f.t.Logf("lost sessions polled again after the stop: %s", firstPolls(h, lost, stop))
	f.pass("takeover", check.Resumed(h, lost, stop, f.plan.ttl+f.plan.interval+200*time.Millisecond, len(lost)).Err())
	for _, p := range h.Polls {
		if p.Instance == n.id && p.From > cont && slices.Contains(lost, p.Session) && int64(p.Token) <= before[p.Session] {
			f.t.Errorf("%s was polled %s after the node went on, with the lost token %d", p.Session, p.From-cont, p.Token)
		}
	}
	if excused != nil {
		all := len(h.Polls)
		h.Polls = slices.DeleteFunc(h.Polls, func(p target.Record) bool { return excused(p, stop) })
		if all-len(h.Polls) != 1 {
			f.t.Errorf("%d polls were frozen open, not one", all-len(h.Polls))
		}
		f.pass("safety", check.Safety(h, 30))
	}
}

// settledAgain checks that the fleet has found its rest.
func (f *fleet) settledAgain(ids []string, nodes []*node) {
	f.t.Helper()
	f.settled(f.plan.ttl, nodes...)
	w := check.Window{From: f.target.Now() - 2*f.plan.interval, To: f.target.Now()}
	f.pass("at rest", check.Gaps(f.history(), ids, w, f.plan.interval*3/2, len(ids)).Err())
}

// live reports whether a poll of the session is in flight.
func (f *fleet) live(id string) bool {
	return slices.ContainsFunc(f.target.Records(), func(p target.Record) bool { return p.Session == id && p.Live })
}

// A node that is frozen past its leases neither extends nor deletes what others took
// meanwhile. C15: kagkarlsson/db-scheduler#402, rq/rq#469. It is frozen at rest just
// before polls are due, and with a request open whose answer comes while it is frozen,
// or after it went on.
func TestAFrozenNodeTouchesNobodysLeases(t *testing.T) {
	for name, ttls := range map[string]int{"at rest": 0, "an answer waits for it": 1, "an answer comes later": 2} {
		t.Run(name, func(t *testing.T) {
			long(t)
			f := newFleet(t, plan{ttl: 3 * time.Second, interval: 2 * time.Second, env: []string{"LEASEHOLD_LOG_LEVEL=debug"}})
			shown := f.monitor()
			ids := f.putMany(8)
			nodes := f.start("a", "b")
			frozen, other := nodes[0], nodes[1]
			held := f.settled(10*time.Second, nodes...)
			mine := of(held, frozen)
			before := f.pulse()
			open := ""
			if ttls > 0 {
				open = mine[0]
				f.hold(open, time.Duration(ttls)*f.plan.ttl)
			} else {
				f.awaitLull(mine)
			}
			tokens := f.tokens(ids)
			results := f.rdb.XLen(t.Context(), resultStream).Val()
			stop, cont := f.thaw(frozen)
			wait(2 * f.plan.interval)
			h := f.history()
			f.pass("takeover", check.Resumed(h, mine, stop, f.recovered(), len(mine)).Err())
			f.takenOver(frozen, other, mine, tokens, stop, cont)
			if found := f.strangers(shown(), nodes); len(found) > 0 {
				t.Errorf("leases of others were touched: %v", found)
			}
			if open != "" {
				f.lateAnswer(frozen, open, tokens[open])
				f.noResult(results, open, tokens[open])
			}
			excused := check.History{Leases: h.Leases}
			for _, p := range h.Polls {
				if open == "" || p.Session != open || p.From > stop || p.To < stop {
					excused.Polls = append(excused.Polls, p)
				}
			}
			if all := len(h.Polls) - len(excused.Polls); open != "" && all != 1 || open == "" && all != 0 {
				t.Errorf("%d polls were frozen open", all)
			}
			f.pass("safety", check.All(
				check.Overlaps(excused, 20), check.Tokens(excused, 20), check.Owners(excused, check.OwnerTolerance, 20),
				check.FailClosed(excused, check.OwnerTolerance, 20), check.Acquisitions(h, check.Window{}, 20),
			))
			f.settled(2*f.plan.ttl, nodes...)
			f.flat(before)
		})
	}
}

// hold has the next poll of a session answered after a delay, and waits until it is on.
func (f *fleet) hold(id string, delay time.Duration) {
	f.t.Helper()
	f.put(id, f.document(id, `,"timeout":"20s"`))
	wait(effect)
	set := f.target.Now()
	f.target.Set(id, target.Behavior{Delay: delay})
	until(f.t, 3*f.plan.interval, "a poll is held open", func() bool {
		return slices.ContainsFunc(f.target.Records(), func(p target.Record) bool { return p.Session == id && p.Live && p.From > set })
	})
	f.target.Set(id, target.Behavior{})
}

// awaitLull waits for a moment shortly before a poll of one of the sessions is due.
func (f *fleet) awaitLull(ids []string) {
	f.t.Helper()
	began := f.target.Now()
	until(f.t, 3*f.plan.interval, "a poll is due soon", func() bool {
		last := map[string]target.Record{}
		for _, p := range f.target.Records() {
			last[p.Session] = p
		}
		now := f.target.Now()
		for _, id := range ids {
			p := last[id]
			if soon := p.From + f.plan.interval - now; !p.Live && p.From > began && soon > 0 && soon < 50*time.Millisecond {
				return true
			}
		}
		return false
	})
}

// thaw freezes a node for 1.7 TTL and waits until it has its heartbeat and its share.
func (f *fleet) thaw(n *node) (stop, cont time.Duration) {
	f.t.Helper()
	n.pause()
	stop = f.target.Now()
	wait(f.plan.ttl * 17 / 10)
	n.proceed()
	cont = f.target.Now()
	until(f.t, f.plan.ttl/3+time.Second, "the heartbeat is back", func() bool {
		return f.rdb.Exists(f.t.Context(), f.keys.Node(n.id)).Val() == 1
	})
	f.t.Logf("the heartbeat is back after %s", (f.target.Now() - cont).Round(time.Millisecond))
	until(f.t, 2*f.plan.ttl, "the node has its share again", func() bool {
		time.Sleep(20 * time.Millisecond)
		return even(f.holders(), len(f.known()), f.nodes)
	})
	return stop, cont
}

// takenOver checks that another polled each session with the next token before the
// frozen node did again, and that this one came with a newer one still.
func (f *fleet) takenOver(frozen, other *node, mine []string, tokens map[string]int64, stop, cont time.Duration) {
	f.t.Helper()
	first := map[string]target.Record{}
	for _, p := range f.target.Records() {
		if p.From <= stop || !slices.Contains(mine, p.Session) {
			continue
		}
		if _, ok := first[p.Session]; !ok {
			first[p.Session] = p
			if p.Instance != other.id || int64(p.Token) != tokens[p.Session]+1 {
				f.t.Errorf("the first poll of %s after the stop is by %s with token %d, before %d", p.Session, p.Instance, p.Token, tokens[p.Session])
			}
		}
		if p.Instance == frozen.id && int64(p.Token) <= tokens[p.Session]+1 {
			f.t.Errorf("%s was polled %s after the node went on, with token %d", p.Session, p.From-cont, p.Token)
		}
	}
}

// noResult checks that Redis has no result of a session with the token but the first ones
// of its stream.
func (f *fleet) noResult(first int64, id string, token int64) {
	f.t.Helper()
	all, err := f.rdb.XRange(f.t.Context(), resultStream, "-", "+").Result()
	if err != nil || int64(len(all)) <= first {
		f.t.Fatalf("%d results, %d before the freeze: %v", len(all), first, err)
	}
	for _, r := range all[first:] {
		if r.Values["session"] == id && r.Values["token"] == strconv.FormatInt(token, 10) {
			f.t.Errorf("a result with an old token is in the stream: %v", r.Values)
		}
	}
}

// lateAnswer checks that the answer to a poll that outlived its lease was dropped, and no
// success.
func (f *fleet) lateAnswer(n *node, id string, token int64) {
	f.t.Helper()
	about := n.all(func(l line) bool { return l.Session == id && l.Version == token })
	started := slices.IndexFunc(about, event("poll.started"))
	for started >= 0 {
		next := slices.IndexFunc(about[started+1:], event("poll.started"))
		if next < 0 {
			break
		}
		started += 1 + next
	}
	if started < 0 || !slices.ContainsFunc(about[started+1:], event("poll.canceled")) {
		f.t.Errorf("nothing tells that the late answer was dropped: %d lines", len(about))
	}
	for _, l := range about[started+1:] {
		f.t.Logf("of the late answer: %s %s %s", l.Event, l.Reason, l.Error)
		if l.Event == "poll.succeeded" {
			f.t.Errorf("an answer after the lease's end passed for a success: %s", l.text)
		}
	}
}
