package membership

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"leasehold/actors/leaseholder"
	"leasehold/eventlog"
	"leasehold/lease"
	"leasehold/redisevents"
	"leasehold/session"
)

// crowd is a node that holds n sessions alone when a second node joins.
func crowd(n int) *desk {
	d := ready(nil, ids(n))
	d.own(ids(n)...)
	d.event(redisevents.NodeSeen{Instance: peer})
	d.take()
	d.member(peer, ttl)
	return d
}

var _ = Describe("the view of the fleet", func() {
	It("looks at a node that an event names before it counts it", func() {
		d := ready(nil, ids(2))
		d.event(redisevents.NodeSeen{Instance: peer})
		Expect(d.take().check).To(Equal([]string{peer}))
		Expect(d.m.fleet.size()).To(Equal(1))
		d.member(peer, ttl)
		Expect(d.m.fleet.size()).To(Equal(2))
		Expect(count[eventlog.MemberJoined](d.take())).To(Equal(1))
	})

	It("looks at a heartbeat at its deadline and a millisecond, and again when there is no answer", func() {
		d := ready([]string{peer}, ids(2))
		d.sleep(ttl - readyAfter)
		Expect(d.take().check).To(BeEmpty())
		d.sleep(time.Millisecond)
		Expect(d.take().check).To(Equal([]string{peer}))
		d.sleep(firstPause)
		Expect(d.take().check).To(Equal([]string{peer}))
		d.member(peer, 0)
		o := d.take()
		Expect(count[eventlog.MemberExpired](o)).To(Equal(1))
		d.sleep(time.Minute)
		Expect(d.take().check).To(BeEmpty())
	})

	It("asks a Redis that hangs ever less", func() {
		d := ready([]string{peer}, ids(2))
		d.sleep(ttl - readyAfter + touchAfter)
		Expect(d.take().check).To(Equal([]string{peer}))
		for _, pause := range []time.Duration{firstPause, 2 * firstPause, 4 * firstPause, mostPause, mostPause} {
			d.sleep(pause - time.Millisecond)
			Expect(d.take().check).To(BeEmpty())
			d.sleep(time.Millisecond)
			Expect(d.take().check).To(Equal([]string{peer}))
		}
		d.member(peer, time.Second)
		d.sleep(time.Second + touchAfter)
		Expect(d.take().check).To(Equal([]string{peer}))
		d.sleep(firstPause)
		Expect(d.take().check).To(Equal([]string{peer}), "after an answer it asks soon again")
	})

	It("tells a node that left from one that died", func() {
		d := ready([]string{peer}, ids(2))
		d.event(redisevents.NodeGone{Instance: peer})
		Expect(d.take().check).To(Equal([]string{peer}))
		d.member(peer, 0)
		o := d.take()
		Expect(count[eventlog.MemberLeft](o)).To(Equal(1))
		Expect(count[eventlog.MemberExpired](o)).To(BeZero())
	})

	It("takes over what the plan gives it when a node has gone, by the plan or at each lease's deadline", func() {
		d := ready([]string{peer}, ids(10))
		mine, others := d.mine()
		d.own(mine...)
		for _, id := range others {
			d.heldBy(id, peer, 20*time.Second)
		}
		d.take()
		d.member(peer, 0)
		quiet(d.take())
		d.sleep(20*time.Second + time.Millisecond)
		Expect(d.claims()).To(ConsistOf(others))
	})

	It("removes nobody for a list without the node's own heartbeat", func() {
		d := ready([]string{peer}, ids(2))
		d.m.onList(nil, d.now)
		d.settle()
		Expect(d.take().check).To(BeEmpty())
		Expect(d.m.fleet.size()).To(Equal(2))
		d.list()
		Expect(d.take().check).To(Equal([]string{peer}), "a complete list leads to a look")
		Expect(d.m.fleet.size()).To(Equal(2), "and to no more than that")
	})

	It("never counts itself out, and ignores a heartbeat without a name", func() {
		d := ready(nil, ids(2))
		d.member(self, 0)
		d.member("", ttl)
		d.event(redisevents.NodeGone{Instance: self})
		o := d.take()
		Expect(o.check).To(BeEmpty())
		Expect(d.m.fleet.size()).To(Equal(1))
		Expect(d.m.fleet.lives(self)).To(BeTrue())
	})
})

var _ = Describe("rebalancing", func() {
	It("waits until the view of the fleet has stood still for half a second", func() {
		d := crowd(10)
		d.sleep(400 * time.Millisecond)
		d.member("third-1-00000003", ttl)
		d.sleep(settle - 1)
		quiet(d.take())
		d.sleep(1)
		Expect(len(d.take().tells)).To(BeElementOf(6, 7), "two thirds of ten")
	})

	It("gives up what the others should have, and no more", func() {
		d := crowd(10)
		d.sleep(settle)
		o := d.take()
		Expect(reasons(o)).To(HaveLen(5))
		Expect(reasons(o)).To(HaveEach(leaseholder.Rebalance))
		d.sleep(time.Minute)
		Expect(d.take().tells).To(BeEmpty(), "each is told once")
	})

	It("leaves a session alone whose poll is in flight, and decides anew when it is over", func() {
		d := crowd(10)
		busy := true
		d.m.set.Polling = func(string) bool { return busy }
		d.sleep(3 * time.Second)
		quiet(d.take())
		busy = false
		d.sleep(settle)
		Expect(reasons(d.take())).To(HaveLen(5))
	})

	It("gives up what is always polled once all leases were looked at", func() {
		d := crowd(10)
		d.m.set.Polling = func(string) bool { return true }
		d.sleep(d.m.set.Reconcile - 1)
		Expect(d.take().tells).To(BeEmpty())
		d.sleep(settle)
		Expect(reasons(d.take())).To(HaveLen(5))
	})

	It("gives up nothing for a node that does not live any more", func() {
		d := crowd(10)
		d.sleep(settle - 1)
		d.member(peer, 0)
		d.sleep(time.Minute)
		quiet(d.take())
	})

	It("moves 200 at most at once, and the rest as those have ended", func() {
		d := crowd(600)
		d.sleep(settle)
		Expect(d.take().tells).To(HaveLen(200))
		d.sleep(time.Minute)
		Expect(d.take().tells).To(BeEmpty())
		moving := 0
		for id, c := range d.m.held {
			if c.moving && moving < 50 {
				moving++
				d.ends(id, leaseholder.Ended{Released: true, Reason: leaseholder.Rebalance})
			}
		}
		Expect(d.take().tells).To(HaveLen(50))
		Expect(d.m.moving).To(Equal(200))
	})

	It("takes back what its new owner did not take, and keeps it for a growing while", func() {
		d := crowd(1)
		if _, others := d.mine(); len(others) == 0 {
			// The only session stays here: the other node is given a second one.
			d = crowd(2)
		}
		d.m.fleet.nodes[peer].seen = d.now.Add(-newcomer)
		d.sleep(settle)
		o := d.take()
		Expect(o.tells).To(HaveLen(1))
		_, others := d.mine()
		id := others[0]
		for _, keep := range []int{10, 20, 40, 80, 160, 320, 640, 640} {
			d.ends(id, leaseholder.Ended{Released: true, Reason: leaseholder.Rebalance})
			quiet(d.take())
			d.sleep(rankDelay)
			Expect(d.claims()).To(Equal([]string{id}))
			d.grant(id)
			d.take()
			for rest := time.Duration(keep) * time.Second; rest > 0; rest -= 5 * time.Second {
				quiet(d.take())
				d.member(peer, ttl)
				d.sleep(min(rest, 5*time.Second) - 1)
				quiet(d.take())
				d.sleep(1)
			}
			d.sleep(settle - 1)
			quiet(d.take())
			d.sleep(1)
			Expect(reasons(d.take())).To(Equal([]leaseholder.Reason{leaseholder.Rebalance}))
		}
	})

	It("counts a move as over also when the lease was lost or the session removed meanwhile", func() {
		d := crowd(10)
		d.sleep(settle)
		d.take()
		_, others := d.mine()
		d.read(absent(others[0]))
		d.ends(others[0], leaseholder.Ended{Released: true, Reason: leaseholder.Deleted})
		d.ends(others[1], leaseholder.Ended{})
		d.fails(others[2])
		Expect(d.m.moving).To(Equal(2))
	})
})

var _ = Describe("the end of a leaseholder", func() {
	It("leads to a new claim at once when the lease was lost", func() {
		d := ready(nil, ids(1))
		d.own("s0")
		d.ends("s0", leaseholder.Ended{})
		Expect(d.claims()).To(Equal([]string{"s0"}))
	})

	// A begin may have been told to wait for a poll of the holder before, and Redis may
	// forget that as well.
	It("is no claim on a session that another may still poll", func() {
		for held, first := range map[time.Duration]time.Duration{ttl - 1: ttl, ttl: 0} {
			d := ready(nil, ids(1))
			d.heldBy("s0", peer, time.Second)
			d.sleep(1001 * time.Millisecond)
			d.own("s0")
			d.sleep(held)
			d.ends("s0", leaseholder.Ended{})
			d.claims()
			Expect(d.fresh()).To(Equal(first))

			// The same once more: what was its own before is so again.
			d.sleep(time.Millisecond)
			d.ends("s0", leaseholder.Ended{})
			d.claims()
			Expect(d.fresh()).To(Equal(first))
		}
	})

	It("is none either where Redis knew of a holder, though this node never did", func() {
		d := ready(nil, ids(1))
		d.answer(lease.Outcome{Session: "s0", Granted: true, Holder: self, Token: 9})
		d.take()
		d.ends("s0", leaseholder.Ended{})
		d.claims()
		Expect(d.fresh()).To(Equal(ttl))
	})

	It("is its node's own claim on a session that Redis forgot, but not after a freeze", func() {
		for late, first := range map[time.Duration]time.Duration{0: 0, 2 * time.Second: ttl} {
			d := ready(nil, ids(1))
			d.own("s0")
			trusted := d.now
			d.sleep(late) // it hears of the end only then: margins have passed, others may have come and gone
			d.ends("s0", leaseholder.Ended{Trusted: trusted})
			d.claims()
			Expect(d.fresh()).To(Equal(first))
		}
	})

	It("has its lease given back again at a scan where Redis refused that and nobody will claim it", func() {
		for _, end := range []leaseholder.Ended{{}, {Released: true, Err: errRedis}} {
			d := ready(nil, ids(1))
			d.own("s0")
			d.read(doc("s0", edition(2), paused))
			d.take()
			d.ends("s0", end)
			for range 2 {
				d.scan(doc("s0", edition(2), paused))
				Expect(d.take().back).To(Equal([]lease.Release{{
					Grant: lease.Grant{Session: "s0", Holder: self, Token: 1},
				}}))
				d.scan(doc("s0", edition(2), paused))
				Expect(d.take().back).To(BeEmpty(), "one is under way")
				d.backWith(errRedis)
			}
			d.scan(doc("s0", edition(2), paused))
			d.take()
			d.backWith(lease.ErrLost)
			d.scan(doc("s0", edition(2), paused))
			Expect(d.take().back).To(BeEmpty())
		}
	})

	It("has its lease given back when the session goes after it, until Redis answers", func() {
		d := ready(nil, ids(1))
		d.own("s0")
		d.ends("s0", leaseholder.Ended{})
		d.answer(lease.Outcome{Session: "s0", Err: errRedis})
		d.take()
		again := []lease.Release{{Grant: lease.Grant{Session: "s0", Holder: self, Token: 1}, Forget: true}}
		d.read(absent("s0"))
		Expect(d.take().back).To(Equal(again))
		d.backWith(errRedis)
		d.scan()
		Expect(d.take().back).To(Equal(again))
		d.backWith(nil)
		d.scan()
		Expect(d.take().back).To(BeEmpty())
	})

	It("leaves a lost lease alone that a claim will find, or that another has", func() {
		d := ready([]string{peer}, ids(1))
		d.grant("s0")
		d.take()
		d.ends("s0", leaseholder.Ended{})
		d.take()
		d.scan(docs("s0")...)
		Expect(d.take().back).To(BeEmpty())
		d.status(lease.Status{Session: "s0", Holder: peer, Remaining: ttl})
		d.read(doc("s0", edition(2), paused))
		d.scan(docs("s0")...)
		Expect(d.take().back).To(BeEmpty())
	})

	It("has its lease given back when it failed, and leads to a claim after that and a growing wait", func() {
		d := ready(nil, ids(1))
		token := lease.Token(1)
		d.own("s0")
		for _, wait := range []int{250, 500, 1000, 2000, 2000} {
			d.fails("s0")
			o := d.take()
			Expect(o.back).To(Equal([]lease.Release{{Grant: lease.Grant{Session: "s0", Holder: self, Token: token}}}))
			Expect(o.claims).To(BeEmpty())
			d.back()
			d.sleep(time.Duration(wait)*time.Millisecond - 1)
			quiet(d.take())
			d.sleep(1)
			Expect(d.claims()).To(Equal([]string{"s0"}))
			token = d.grant("s0")
			d.take()
		}
	})

	It("leads to no claim while its lease is still being given back", func() {
		d := ready(nil, ids(1))
		d.own("s0")
		d.fails("s0")
		d.take()
		d.sleep(10 * time.Second)
		d.freed("s0")
		quiet(d.take())
		d.back()
		Expect(d.claims()).To(Equal([]string{"s0"}))
	})

	It("backs off where its poller failed, as with its own failure", func() {
		d := ready(nil, ids(1))
		d.own("s0")
		d.ends("s0", leaseholder.Ended{Released: true, Reason: leaseholder.Failure, Fault: true})
		d.freed("s0")
		d.sleep(firstPause - 1)
		quiet(d.take())
		d.sleep(1)
		Expect(d.claims()).To(Equal([]string{"s0"}))
	})

	It("after a failed poll lets the others come first, also when the retry is due already", func() {
		for _, retry := range []time.Duration{0, 4 * time.Second} {
			d := ready([]string{peer}, ids(2))
			mine, _ := d.mine()
			d.own(mine[0])
			d.ends(mine[0], leaseholder.Ended{Released: true, Reason: leaseholder.Failure, RetryIn: retry})
			d.freed(mine[0]) // Redis announces our own release
			d.sleep(retry + standBack - 1)
			Expect(d.claims()).NotTo(ContainElement(mine[0]))
			d.sleep(1)
			Expect(d.claims()).To(ContainElement(mine[0]))
		}
	})

	It("has a task soon again that it released after a failed run, whenever the retry is: somebody may ask for it", func() {
		for _, others := range [][]string{nil, {peer}} {
			d := newDesk()
			d.list(others...)
			task := func(s *session.Session) { s.Misfire, s.OnFailure = session.Once, session.Release }
			d.scan(doc("s0", task), doc("s1", task))
			d.sleep(readyAfter)
			mine, _ := d.mine()
			d.own(mine...)
			d.ends(mine[0], leaseholder.Ended{Released: true, Reason: leaseholder.Failure, RetryIn: 24 * time.Hour})
			d.take()
			d.sleep(time.Duration(1+len(others))*standBack - 1)
			Expect(d.claims()).NotTo(ContainElement(mine[0]))
			d.sleep(1)
			Expect(d.claims()).To(ContainElement(mine[0]))
		}
	})

	It("blames nobody for letting a session pass that is released after each failed poll", func() {
		type passed struct {
			onFailure session.OnFailure
			failing   bool
		}
		for p, full := range map[passed]bool{
			{session.Keep, true}: true, {session.Release, true}: false,
			{session.Release, false}: true, // its owner has no room
		} {
			d := newDesk()
			d.list(peer)
			change := func(s *session.Session) { s.OnFailure = p.onFailure }
			d.scan(doc("s0", change), doc("s1", change))
			d.sleep(readyAfter)
			mine, others := d.mine()
			d.own(mine...)
			d.heldBy(others[0], peer, ttl)
			d.freed(others[0])
			d.sleep(rankDelay)
			d.answer(lease.Outcome{Session: others[0], Granted: true, Failing: p.failing, Holder: self, Token: 1})
			Expect(d.m.fleet.full(peer, d.now)).To(Equal(full), "%+v", p)
		}
	})

	It("keeps such a session for a while all the same: its owner may let it pass again", func() {
		d := newDesk()
		d.list(peer)
		release := func(s *session.Session) { s.OnFailure = session.Release }
		d.scan(doc("s0", release), doc("s1", release))
		d.sleep(readyAfter)
		mine, others := d.mine()
		d.own(mine...)
		passed := others[0]
		d.heldBy(passed, peer, ttl)
		d.freed(passed)
		d.sleep(rankDelay)
		d.answer(lease.Outcome{Session: passed, Granted: true, Failing: true, Holder: self, Token: 1})
		e := d.m.entries[passed]
		e.owner, e.mine = peer, false // by another plan
		d.m.noteSurplus(passed, e, d.now.Add(-time.Minute))
		d.m.drifted = false
		d.m.rebalance(d.now.Add(d.m.set.Reconcile - 1))
		Expect(d.m.held[passed].leaving).To(BeFalse())
		d.m.rebalance(d.now.Add(d.m.set.Reconcile))
		Expect(d.m.held[passed].leaving).To(BeTrue())
	})

	It("after a failed poll of a node that is alone waits for the retry only", func() {
		d := ready(nil, ids(1))
		d.own("s0")
		d.ends("s0", leaseholder.Ended{Released: true, Reason: leaseholder.Failure, RetryIn: time.Second})
		d.sleep(time.Second - 1)
		quiet(d.take())
		d.sleep(1)
		Expect(d.claims()).To(Equal([]string{"s0"}))
	})
})

var _ = Describe("a drain", func() {
	It("has every lease given back, claims nothing more, and is over when the last has ended", func() {
		d := ready(nil, ids(3))
		d.own(ids(3)...)
		d.m.onDrain()
		d.settle()
		Expect(reasons(d.take())).To(Equal([]leaseholder.Reason{leaseholder.Shutdown, leaseholder.Shutdown, leaseholder.Shutdown}))
		for _, id := range ids(3) {
			Expect(d.m.drained()).To(BeFalse())
			d.ends(id, leaseholder.Ended{Released: true, Reason: leaseholder.Shutdown})
			d.freed(id)
		}
		d.sleep(time.Minute)
		quiet(d.take())
		Expect(d.m.drained()).To(BeTrue())
	})

	It("gives back what was still being claimed, and waits for that too", func() {
		d := ready(nil, ids(3))
		d.m.onDrain()
		d.settle()
		Expect(d.m.drained()).To(BeFalse())
		d.grant("s0")
		Expect(d.take().back).To(Equal([]lease.Release{{Grant: lease.Grant{Session: "s0", Holder: self, Token: 1}}}))
		d.heldBy("s1", peer, ttl)
		d.answer(lease.Outcome{Session: "s2", Err: errRedis})
		d.sleep(time.Minute)
		Expect(d.m.drained()).To(BeFalse(), "a release is still under way")
		d.back()
		Expect(d.m.drained()).To(BeTrue())
		quiet(d.take())
	})

	It("is over at once where nothing is held", func() {
		d := newDesk()
		d.m.onDrain()
		Expect(d.m.drained()).To(BeTrue())
	})

	It("has the lease of a leaseholder given back that failed meanwhile", func() {
		d := ready(nil, ids(1))
		d.own("s0")
		d.m.onDrain()
		d.fails("s0")
		Expect(d.take().back).To(HaveLen(1))
		Expect(d.m.drained()).To(BeFalse())
		d.back()
		Expect(d.m.drained()).To(BeTrue())
	})
})
