package membership

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"leasehold/actors/leaseholder"
	"leasehold/lease"
	"leasehold/redisevents"
)

var _ = Describe("a lease that was given up and that a replica still has", func() {
	gaveUp := func() *desk {
		d := ready(nil, ids(1))
		d.event(redisevents.Gap{Server: "one"})
		d.own("s0")
		d.sleep(ttl)
		d.m.release(d.m.held["s0"], leaseholder.Rebalance)
		d.ends("s0", leaseholder.Ended{Released: true, Reason: leaseholder.Rebalance})
		d.heldBy("s0", peer, ttl) // it asked again, and peer was quicker
		d.take()
		return d
	}
	It("is left alone for a TTL", func() {
		d := gaveUp()
		d.event(redisevents.Gap{Restarted: true, Server: "two"})
		d.status(lease.Status{Session: "s0", Holder: self, Remaining: 20 * time.Second})
		Expect(d.claims()).To(BeEmpty())
	})
	It("is left alone too where it was lost long ago, and could not be claimed since", func() {
		d := ready(nil, ids(1))
		d.event(redisevents.Gap{Server: "one"})
		d.own("s0")
		d.sleep(ttl)
		d.m.onFenced(true, d.now)
		d.ends("s0", leaseholder.Ended{Trusted: d.now.Add(ttl / 2)})
		d.sleep(10 * time.Second)
		d.event(redisevents.Gap{Restarted: true, Server: "two"})
		d.status(lease.Status{Session: "s0", Holder: self, Remaining: 15 * time.Second})
		d.m.onFenced(false, d.now)
		d.list()
		d.settle()
		d.sleep(5 * time.Second)
		Expect(d.m.ready).To(BeTrue())
		Expect(d.claims()).To(BeEmpty())
	})

	It("is polled a TTL later where the look is quicker than the news", func() {
		d := gaveUp()
		d.status(lease.Status{Session: "s0", Holder: self, Remaining: 20 * time.Second})
		Expect(d.claims()).To(Equal([]string{"s0"}))
		d.answer(lease.Outcome{Session: "s0", Granted: true, Already: true, Holder: self, Token: 1, Server: "two"})
		Expect(d.take().spawns[0].cfg.HeldOff).To(Equal(ttl))
	})
})

var _ = Describe("an answer of the former server that comes after the news of another", func() {
	for what, err := range map[string]error{"an error": errRedis, "an answer": nil} {
		It("is no news of a third one: "+what, func() {
			d := ready(nil, ids(2))
			d.event(redisevents.Gap{Server: "one"})
			d.heldBy("s1", peer, 2*time.Second)
			d.heldBy("s0", peer, time.Second)
			d.sleep(1001 * time.Millisecond)
			Expect(d.claims()).To(Equal([]string{"s0"}))
			sent := d.now
			d.sleep(time.Millisecond)
			d.event(redisevents.Gap{Restarted: true, Server: "two"})
			news := d.now
			d.sleep(time.Millisecond)
			d.m.onOutcomes([]lease.Outcome{{Session: "s0", Holder: peer, Remaining: time.Second, Server: "one", Err: err}}, sent, d.now)
			d.settle()
			d.sleep(news.Add(ttl).Sub(d.now))
			Expect(d.claims()).To(ContainElement("s1"), "a TTL after the news")
			sent = d.now
			d.sleep(time.Millisecond)
			d.m.onOutcomes([]lease.Outcome{{Session: "s1", Granted: true, Holder: self, Token: 9, Server: "two"}}, sent, d.now)
			d.settle()
			Expect(d.take().spawns[0].cfg.HeldOff).To(BeZero())
		})
	}
})

var _ = Describe("a session whose state went on purpose", func() {
	It("is polled at once by who takes it while its holder is ending it", func() {
		d := ready(nil, ids(1))
		d.heldBy("s0", peer, ttl) // its owner
		d.sleep(ttl / 2)
		d.read(absent("s0"))
		d.back()
		d.read(doc("s0"))
		Expect(d.claims()).To(ContainElement("s0"))
		d.heldBy("s0", peer, ttl/2) // it is ending its poll
		d.sleep(10 * time.Millisecond)
		d.freed("s0") // and has given the lease back, and forgotten the state with the document
		Expect(d.claims()).To(Equal([]string{"s0"}))
		Expect(d.fresh()).To(BeZero(), "it waits for nobody")
	})

	It("is polled at once by who did not notice", func() {
		d := ready(nil, ids(1))
		d.heldBy("s0", peer, ttl)
		d.sleep(ttl / 2)
		d.event(redisevents.SessionTouched{ID: "s0"})
		d.read(doc("s0"))
		d.freed("s0")
		Expect(d.claims()).To(Equal([]string{"s0"}))
		Expect(d.fresh()).To(BeZero())
	})

	It("is polled at once where it was paused until its state expired", func() {
		d := ready(nil, ids(1))
		d.own("s0")
		d.sleep(time.Minute)
		d.read(doc("s0", paused, edition(2)))
		d.ends("s0", leaseholder.Ended{Released: true, Reason: leaseholder.Paused})
		d.sleep(8 * 24 * time.Hour)
		d.read(doc("s0", edition(3)))
		Expect(d.claims()).To(Equal([]string{"s0"}))
		Expect(d.fresh()).To(BeZero())
	})

	It("is held off where Redis forgot after it was given up", func() {
		d := ready(nil, ids(1))
		d.heldBy("s0", peer, ttl)
		d.sleep(ttl / 2)
		d.event(redisevents.SessionTouched{ID: "s0"})
		d.freed("s0")
		Expect(d.claims()).To(Equal([]string{"s0"}))
		d.event(redisevents.Gap{Restarted: true})
		Expect(d.fresh()).To(Equal(ttl))
	})

	It("is held off where nothing says that its document was written", func() {
		d := ready(nil, ids(1))
		d.heldBy("s0", peer, ttl)
		d.sleep(ttl / 2)
		d.freed("s0")
		Expect(d.claims()).To(Equal([]string{"s0"}))
		Expect(d.fresh()).To(Equal(ttl))
	})

	It("is held off where it was given up long ago: another may have had it since", func() {
		d := ready(nil, ids(1))
		d.heldBy("s0", peer, ttl)
		d.read(doc("s0", paused, edition(2)))
		d.freed("s0")
		d.sleep(handover)
		d.read(doc("s0", edition(3)))
		Expect(d.claims()).To(Equal([]string{"s0"}))
		Expect(d.fresh()).To(Equal(ttl))
	})
})
