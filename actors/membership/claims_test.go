package membership

import (
	"errors"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"leasehold/actors/leaseholder"
	"leasehold/eventlog"
	"leasehold/lease"
	"leasehold/redisevents"
	"leasehold/session"
)

var errRedis = errors.New("no answer from Redis")

var _ = Describe("a node that starts", func() {
	It("claims when it knows the fleet and the sessions, and the view has stood still", func() {
		d := newDesk()
		Expect(d.take().list).To(BeTrue())
		d.scan(docs("a")...)
		d.sleep(10 * time.Second)
		quiet(d.take())
		d.list()
		Expect(d.claims()).To(Equal([]string{"a"}))
	})

	It("waits for those who start with it, but not for ever", func() {
		d := newDesk()
		d.scan(docs("a")...)
		d.list()
		for i := range 10 { // somebody joins every 300 ms
			if i*300 < int(settleMost/time.Millisecond) {
				quiet(d.take())
			}
			d.sleep(300 * time.Millisecond)
			d.member("n"+string(rune('a'+i)), ttl)
		}
		Expect(d.m.ready).To(BeTrue())
	})

	It("does not spin while Redis does not answer", func() {
		d := newDesk()
		d.sleep(time.Minute) // the desk panics if it is woken at once, again and again
		Expect(d.m.ready).To(BeFalse())
		d.scan(docs("a")...)
		d.sleep(time.Minute)
		Expect(d.m.ready).To(BeFalse())
	})
})

var _ = Describe("a node", func() {
	It("claims all that is free when it is alone, each once", func() {
		d := newDesk()
		d.list()
		d.scan(docs(ids(20)...)...)
		d.sleep(time.Minute)
		Expect(d.claims()).To(ConsistOf(ids(20)))
	})

	It("makes one leaseholder a grant, trusted from the sending of the claim", func() {
		d := ready(nil, ids(1))
		sent := d.now
		d.sleep(3 * time.Second)
		d.m.onOutcomes([]lease.Outcome{{Session: "s0", Granted: true, Holder: self, Token: 5, Wait: time.Second}}, sent, d.now)
		d.settle()
		o := d.take()
		Expect(o.spawns).To(HaveLen(1))
		cfg := o.spawns[0].cfg
		Expect(cfg.Term.Grant).To(Equal(lease.Grant{Session: "s0", Holder: self, Token: 5}))
		Expect(cfg.Term.TrustedUntil).To(Equal(sent.Add(28 * time.Second)))
		Expect(cfg.First).To(Equal(time.Second))
		Expect(count[eventlog.LeaseAcquired](o)).To(Equal(1))
	})

	It("has the first polls wait for the claims that are still under way", func() {
		const sessions = 1000
		d := ready(nil, ids(sessions))
		first := func(id string) time.Duration {
			d.grant(id)
			return d.take().spawns[0].cfg.First
		}
		Expect(first("s0")).To(And(BeNumerically(">", 10*time.Millisecond), BeNumerically("<", 100*time.Millisecond)))
		for i := 1; i < sessions-1; i++ {
			d.grant(ids(sessions)[i])
		}
		d.take()
		Expect(first(ids(sessions)[sessions-1])).To(BeZero(), "the last one begins at once")
	})

	It("asks for a TTL of each session's own, and trusts it no longer", func() {
		d := newDesk(func(s *Settings) { s.Stagger = 50 })
		d.list()
		d.scan(docs(ids(9)...)...)
		d.sleep(time.Second)
		ttls := map[string]time.Duration{}
		for _, c := range d.take().claims {
			Expect(c.TTL).To(And(BeNumerically("<=", ttl), BeNumerically(">", ttl-ttl/50)))
			ttls[c.Session] = c.TTL
		}
		Expect(ttls).To(HaveLen(9))
		for id, own := range ttls {
			sent := d.now
			d.grant(id)
			cfg := d.take().spawns[0].cfg
			Expect(cfg.Term.TrustedUntil).To(Equal(sent.Add(own - 2*time.Second)))
			Expect(cfg.TTL).To(Equal(ttl), "by which it is renewed")
		}
	})

	It("counts the term from the TTL that Redis was asked for, whatever the document says by now", func() {
		d := newDesk()
		d.list()
		d.scan(doc("a", func(s *session.Session) { s.LeaseTTL = 6 * time.Second }))
		d.sleep(time.Second)
		Expect(d.take().claims[0].TTL).To(Equal(6 * time.Second))
		d.read(doc("a", edition(2), func(s *session.Session) { s.LeaseTTL = time.Minute }))
		sent := d.now
		d.grant("a")
		o := d.take()
		Expect(o.spawns[0].cfg.TTL).To(Equal(6 * time.Second))
		Expect(o.spawns[0].cfg.Term.TrustedUntil).To(Equal(sent.Add(6*time.Second - 400*time.Millisecond)))
		Expect(told[*leaseholder.Update](o)).To(HaveLen(1), "then it asks for the new one")
		Expect(told[*leaseholder.Update](o)[0].TTL).To(Equal(time.Minute))
	})

	It("tries a lease of another at its deadline and a millisecond, again and again", func() {
		d := ready(nil, ids(1))
		d.heldBy("s0", peer, 5*time.Second)
		d.sleep(5 * time.Second)
		quiet(d.take())
		d.sleep(time.Millisecond)
		o := d.take()
		Expect(o.claims).To(HaveLen(1))
		d.heldBy("s0", peer, 20*time.Second)
		d.sleep(20*time.Second + time.Millisecond)
		Expect(d.claims()).To(Equal([]string{"s0"}))
	})

	It("repeats a claim without an answer although the plan names another by now", func() {
		d := ready(nil, ids(20))
		Expect(d.take().claims).To(BeEmpty()) // ready forgot them; all are under way
		d.list(peer)
		d.sleep(time.Second)
		d.take()
		_, others := d.mine()
		Expect(others).NotTo(BeEmpty())
		id := others[0]
		d.answer(lease.Outcome{Session: id, Err: errRedis})
		d.sleep(time.Second)
		Expect(d.claims()).To(ContainElement(id), "Redis may have carried it out")
		d.heldBy(id, peer, 20*time.Second)
		d.sleep(ttl)
		Expect(d.claims()).NotTo(ContainElement(id), "what is known is left to the plan")
	})

	It("repeats a claim without an answer when it was cut off and is back", func() {
		d := ready(nil, ids(20))
		peers := []string{peer, "p2", "p3", "p4", "p5", "p6", "p7", "p8", "p9"}
		d.list(peers...)
		d.sleep(time.Second)
		d.take()
		_, others := d.mine()
		id := others[0] // of one that many others would try first
		for _, o := range others {
			if d.m.rank(d.m.entries[o]) > fallbacks {
				id = o
			}
		}
		Expect(d.m.rank(d.m.entries[id])).To(BeNumerically(">", fallbacks))
		d.answer(lease.Outcome{Session: id, Err: errRedis})
		d.m.onFenced(true, d.now)
		d.sleep(5 * time.Second)
		Expect(d.claims()).To(BeEmpty())
		d.m.onFenced(false, d.now)
		d.list(peers...)
		d.sleep(settleMost)
		Expect(d.claims()).To(ContainElement(id))
	})

	It("claims at once when an event says that the lease went", func() {
		d := ready(nil, ids(1))
		d.heldBy("s0", peer, 20*time.Second)
		d.sleep(time.Second)
		d.freed("s0")
		Expect(d.claims()).To(Equal([]string{"s0"}))
		d.freed("s0")
		Expect(d.claims()).To(BeEmpty(), "a claim is in flight")
	})

	It("claims again when the event came while a claim was in flight, whose answer is older", func() {
		d := ready(nil, ids(1))
		d.freed("s0")
		d.heldBy("s0", peer, 20*time.Second)
		Expect(d.claims()).To(Equal([]string{"s0"}))
		d.heldBy("s0", peer, 20*time.Second)
		Expect(d.claims()).To(BeEmpty(), "one event, one claim more")
	})

	It("has a held lease verified when an event says that it went, and makes no second leaseholder", func() {
		d := ready(nil, ids(1))
		d.own("s0")
		d.freed("s0")
		o := d.take()
		Expect(told[*leaseholder.Verify](o)).To(HaveLen(1))
		Expect(o.claims).To(BeEmpty())
	})

	It("does not take the news that the lease before ran out, which come late, for its own", func() {
		d := ready(nil, ids(1))
		d.own("s0")
		d.take()
		d.event(redisevents.LeaseFreed{Session: "s0", Cause: redisevents.Expired})
		Expect(told[*leaseholder.Verify](d.take())).To(BeEmpty())
		d.event(redisevents.LeaseFreed{Session: "s0", Cause: redisevents.Deleted})
		Expect(told[*leaseholder.Verify](d.take())).To(HaveLen(1), "somebody deleted it")
		d.sleep(echo)
		d.event(redisevents.LeaseFreed{Session: "s0", Cause: redisevents.Expired})
		Expect(told[*leaseholder.Verify](d.take())).To(HaveLen(1), "it is its own by then")
	})

	It("claims what the scan found free, and counts the repair", func() {
		d := ready(nil, ids(1))
		d.heldBy("s0", peer, 20*time.Second)
		d.status(lease.Status{Session: "s0"})
		Expect(d.claims()).To(Equal([]string{"s0"}))
		d.grant("s0")
		Expect(count[eventlog.ReconcileRepaired](d.take())).To(Equal(1))
	})

	It("claims its own lease that has no leaseholder, rather than wait for its end", func() {
		d := ready(nil, ids(1))
		d.answer(lease.Outcome{Session: "s0", Err: errRedis}) // but Redis had granted it
		d.status(lease.Status{Session: "s0", Holder: self, Remaining: 20 * time.Second})
		d.sleep(mostPause)
		Expect(d.claims()).To(Equal([]string{"s0"}))
	})

	It("claims its own lease that has no leaseholder also where the plan names another, or it takes nothing", func() {
		for _, c := range []lease.Cordon{lease.Open, lease.Cordoned, lease.Drained} {
			d := ready([]string{peer}, ids(2))
			mine, others := d.mine()
			d.own(mine...)
			d.heldBy(others[0], peer, ttl)
			d.take()
			if c != lease.Open {
				d.cordon(self, c)
			}
			d.take()
			d.status(lease.Status{Session: others[0], Holder: self, Remaining: 24 * time.Hour})
			Expect(d.claims()).To(Equal(others))
		}
	})

	It("pauses all claims for a growing while when Redis does not answer, and says so once", func() {
		d := ready(nil, ids(1))
		for _, pause := range []int{250, 500, 1000, 2000, 2000} {
			d.take()
			d.answer(lease.Outcome{Session: "s0", Err: errRedis})
			d.sleep(time.Duration(pause)*time.Millisecond - 1)
			o := d.take()
			quiet(o)
			Expect(unanswered(o)).To(Equal([]bool{pause != 250}))
			d.sleep(1)
			Expect(d.claims()).To(Equal([]string{"s0"}))
		}
		d.heldBy("s0", peer, time.Second)
		d.sleep(1001 * time.Millisecond)
		d.take()
		d.answer(lease.Outcome{Session: "s0", Err: errRedis})
		Expect(unanswered(d.take())).To(Equal([]bool{false}), "a new outage")
	})

	It("begins with the short pause again where the outage before was long ago", func() {
		d := ready(nil, ids(2))
		d.answer(lease.Outcome{Session: "s0", Err: errRedis})
		d.answer(lease.Outcome{Session: "s1", Err: errRedis})
		Expect(unanswered(d.take())).To(Equal([]bool{false, true}))
		d.now = d.now.Add(2 * ttl)
		d.m.asking["s0"] = &ask{why: byPlan, ttl: ttl}
		d.answer(lease.Outcome{Session: "s0", Err: errRedis})
		Expect(unanswered(d.take())).To(Equal([]bool{false}))
	})

	It("reports a lease key of a foreign type once and leaves it alone until it goes", func() {
		d := ready(nil, ids(1))
		d.answer(lease.Outcome{Session: "s0", Err: lease.ErrForeign})
		for range 3 {
			d.status(lease.Status{Session: "s0", Err: lease.ErrForeign})
		}
		d.sleep(time.Minute)
		o := d.take()
		quiet(o)
		Expect(count[eventlog.KeyForeign](o)).To(Equal(1))
		d.sleep(ttl)
		d.status(lease.Status{Session: "s0", Err: lease.ErrForeign})
		d.freed("s0")
		Expect(d.claims()).To(Equal([]string{"s0"}))
		Expect(d.fresh()).To(BeZero(), "nobody can have had it")
	})

	It("takes a lease without expiry over after one and a half TTL, not before, and warns once", func() {
		d := ready(nil, ids(1))
		d.heldBy("s0", "ghost", lease.NoExpiry)
		warned := count[eventlog.LeaseAcquireFailed](d.take())
		Expect(warned).To(Equal(2), "the refusal, and the warning")
		for range 4 {
			d.sleep(10 * time.Second)
			d.status(lease.Status{Session: "s0", Holder: "ghost", Remaining: lease.NoExpiry})
		}
		d.sleep(5 * time.Second)
		o := d.take()
		quiet(o)
		Expect(count[eventlog.LeaseAcquireFailed](o)).To(BeZero())
		d.sleep(time.Millisecond)
		Expect(d.take().claims).To(Equal([]lease.Claim{{Session: "s0", TTL: ttl, Abandoned: "ghost", Interval: interval}}))
	})

	It("takes its turn at an abandoned lease that the node of the plan leaves where it is", func() {
		d := ready([]string{peer}, ids(20))
		_, others := d.mine()
		id := others[0]
		look := lease.Status{Session: id, Holder: "ghost", Remaining: lease.NoExpiry}
		d.heldBy(id, "ghost", lease.NoExpiry) // what it tried in its first turn
		for range 3 {
			d.status(look)
			d.sleep(15 * time.Second)
			d.member(peer, ttl)
		}
		d.take()
		d.status(look)
		d.sleep(fallbacks * rankDelay)
		Expect(d.take().claims).To(ContainElement(lease.Claim{Session: id, TTL: ttl, Abandoned: "ghost", Interval: interval}))
	})

	It("leaves a lease alone whose expiry came back", func() {
		d := ready(nil, ids(1))
		d.heldBy("s0", peer, lease.NoExpiry)
		d.sleep(20 * time.Second)
		d.status(lease.Status{Session: "s0", Holder: peer, Remaining: 29 * time.Second})
		d.sleep(29*time.Second + time.Millisecond)
		Expect(d.take().claims).To(Equal([]lease.Claim{{Session: "s0", TTL: ttl, Interval: interval}}))
	})

	It("takes no more sessions than it may, and more when there is room", func() {
		d := newDesk(func(s *Settings) { s.MaxSessions = 2 })
		d.list()
		d.scan(docs(ids(4)...)...)
		d.sleep(time.Second)
		claimed := d.claims()
		Expect(claimed).To(HaveLen(2))
		d.heldBy(claimed[0], peer, 20*time.Second)
		third := d.claims()
		Expect(third).To(HaveLen(1), "a claim that failed makes room")
		d.grant(claimed[1])
		d.grant(third[0])
		Expect(d.claims()).To(BeEmpty())
		d.ends(claimed[1], leaseholder.Ended{})
		Expect(d.claims()).To(HaveLen(1))
	})

	It("claims nothing while it is fenced, and afterwards settles as at a start", func() {
		d := newDesk()
		d.list()
		d.m.onFenced(true, d.now)
		d.scan(docs(ids(3)...)...)
		d.sleep(time.Minute)
		d.freed("s0")
		quiet(d.take())
		d.m.onFenced(false, d.now)
		d.settle()
		Expect(d.take().list).To(BeTrue(), "the others may be coming back too")
		d.sleep(settle)
		quiet(d.take())
		d.list(peer)
		d.sleep(settle - 1)
		Expect(d.claims()).To(BeEmpty())
		d.sleep(1)
		mine, others := d.mine()
		Expect(others).NotTo(BeEmpty())
		Expect(d.claims()).To(ConsistOf(mine))
	})

	It("goes on when it hears again that it is not fenced", func() {
		d := ready(nil, ids(1))
		d.m.onFenced(false, d.now)
		d.settle()
		Expect(d.m.ready).To(BeTrue())
	})

	It("puts the first poll off by a TTL where Redis forgot the lease of another", func() {
		d := ready(nil, ids(1))
		d.heldBy("s0", peer, 20*time.Second)
		d.status(lease.Status{Session: "s0"})
		// The look made it forget the holder; another refusal names it again.
		d.heldBy("s0", peer, time.Second)
		d.sleep(1001 * time.Millisecond)
		d.take()
		Expect(d.fresh()).To(Equal(ttl))
	})

	It("does so although it heard meanwhile that the other's lease went", func() {
		d := ready(nil, ids(1))
		d.heldBy("s0", peer, 20*time.Second)
		d.freed("s0")
		d.take()
		Expect(d.fresh()).To(Equal(ttl))
	})

	It("does so with a claim that was under way when it heard that Redis is another", func() {
		d := ready(nil, ids(1))
		d.heldBy("s0", peer, 20*time.Second)
		d.freed("s0")
		Expect(d.claims()).To(Equal(ids(1)))
		d.event(redisevents.Gap{Restarted: true})
		Expect(d.fresh()).To(Equal(ttl))
	})

	It("does so with one that it knew before Redis forgot, and claimed then, though it never saw who had it", func() {
		d := ready(nil, ids(1))
		d.event(redisevents.Gap{Restarted: true})
		Expect(d.fresh()).To(Equal(ttl))
	})

	It("does so with a session of which it knows for a TTL, though it never saw who had it", func() {
		d := ready([]string{peer}, ids(1))
		d.sleep(ttl - 2*time.Second)
		d.member(peer, 0) // the heartbeats are forgotten too
		d.sleep(settle + 2*time.Second)
		Expect(d.fresh()).To(Equal(ttl))
	})

	It("polls a paused session at once when it is resumed", func() {
		d := ready(nil, nil)
		d.scan(doc("s0", func(s *session.Session) { s.Paused, s.Fingerprint = true, 2 }))
		d.sleep(2 * ttl)
		d.read(doc("s0"))
		Expect(d.fresh()).To(BeZero())
	})

	It("polls at once what it claims after it held off", func() {
		d := ready(nil, ids(1))
		d.heldBy("s0", peer, 20*time.Second)
		d.sleep(10 * time.Second)
		d.event(redisevents.Gap{Restarted: true})
		d.sleep(ttl + time.Second)
		Expect(d.claims()).To(Equal(ids(1)))
		Expect(d.fresh()).To(BeZero())
	})

	// The news that Redis is another and the loss of the lease come in any order.
	It("counts the wait from the news also where it lost the session after them", func() {
		for age, first := range map[time.Duration]time.Duration{0: 0, ttl: ttl} { // of the renewal
			d := ready(nil, ids(1))
			d.own("s0")
			d.sleep(time.Second)
			d.event(redisevents.Gap{Restarted: true})
			d.sleep(time.Millisecond)
			// It had the lease for less than a TTL: one before may still poll.
			d.ends("s0", leaseholder.Ended{Trusted: d.now.Add(ttl - margin - age - 10*time.Millisecond)})
			d.sleep(ttl + time.Second)
			Expect(d.claims()).To(Equal(ids(1)))
			Expect(d.fresh()).To(Equal(first), "renewed %s before", age)
		}
	})

	It("polls a new session at once", func() {
		d := ready(nil, ids(1))
		d.take()
		Expect(d.fresh()).To(BeZero())
	})
})
