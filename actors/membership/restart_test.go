package membership

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"leasehold/actors/leaseholder"
	"leasehold/lease"
	"leasehold/redisevents"
	"leasehold/session"
)

var _ = Describe("a node after Redis was started anew", func() {
	It("claims only its own sessions for one TTL, and has its leases renewed at once", func() {
		d := ready([]string{peer}, ids(4))
		mine, _ := d.mine()
		d.own(mine[0])
		d.heldBy(mine[1], external, 10*time.Second)
		d.take()
		d.event(redisevents.Gap{Restarted: true})
		o := d.take()
		Expect(o.renew).To(BeTrue())
		Expect(o.list && o.scan).To(BeTrue())

		d.ends(mine[0], leaseholder.Ended{})
		Expect(d.claims()).To(Equal(mine[:1]), "the last known holder claims again at once")
		d.sleep(ttl - 1)
		for _, c := range d.claims() {
			Expect(c).NotTo(Equal(mine[1]))
		}
		d.sleep(1)
		Expect(d.claims()).To(ContainElement(mine[1]))
	})

	It("counts from when it heard of it", func() {
		d := ready(nil, ids(1))
		d.heldBy("s0", peer, time.Second)
		d.event(redisevents.Gap{Restarted: true})
		d.sleep(ttl - 1)
		Expect(d.claims()).To(BeEmpty())
		d.sleep(1)
		Expect(d.claims()).To(Equal([]string{"s0"}))
	})

	// A node that was frozen or cut off can be quicker with a claim than the events.
	It("hears of another server by the answer to a claim, and lets a poll end that it can't know of", func() {
		for server, first := range map[string]time.Duration{"one": 0, "two": ttl, "": 0} {
			d := ready(nil, ids(2))
			d.event(redisevents.Gap{Server: "one"})
			d.heldBy("s0", peer, time.Second)
			d.heldBy("s1", peer, 2*time.Second)
			d.sleep(1001 * time.Millisecond)
			d.take()
			d.answer(lease.Outcome{Session: "s0", Granted: true, Holder: self, Token: 9, Server: server})
			o := d.take()
			Expect(o.spawns[0].cfg.HeldOff).To(Equal(first))
			Expect(o.renew).To(Equal(first > 0))
			d.sleep(time.Second)
			if first > 0 {
				Expect(d.claims()).To(BeEmpty(), "what another had is left alone for a TTL")
				d.event(redisevents.Gap{Server: "two"}) // the same news
				d.sleep(ttl - time.Second - 1)
				Expect(d.claims()).To(BeEmpty())
				d.sleep(1)
			}
			Expect(d.claims()).To(Equal([]string{"s1"}))
			d.answer(lease.Outcome{Session: "s1", Granted: true, Holder: self, Token: 9, Server: server})
			Expect(d.take().spawns[0].cfg.HeldOff).To(BeZero())
		}
	})

	// Events may begin later than claims, on another server than answered those.
	It("hears of another server by an answer also after the first events came from it", func() {
		d := ready(nil, ids(2))
		d.answer(lease.Outcome{Session: "s1", Holder: peer, Remaining: time.Minute, Server: "one"})
		d.heldBy("s0", peer, time.Second)
		d.event(redisevents.Gap{Server: "two"})
		d.sleep(1001 * time.Millisecond)
		d.take()
		d.answer(lease.Outcome{Session: "s0", Granted: true, Holder: self, Token: 9, Server: "two"})
		Expect(d.take().spawns[0].cfg.HeldOff).To(Equal(ttl))
	})

	It("lets a poll end also where the events told of it while a claim was on its way", func() {
		d := ready(nil, ids(1))
		d.heldBy("s0", peer, time.Second)
		d.sleep(1001 * time.Millisecond)
		d.take()
		sent := d.now
		d.sleep(time.Millisecond)
		d.event(redisevents.Gap{Restarted: true, Server: "two"})
		d.m.onOutcomes([]lease.Outcome{{Session: "s0", Granted: true, Holder: self, Token: 9, Server: "two"}}, sent, d.now)
		d.settle()
		Expect(d.take().spawns[0].cfg.HeldOff).To(Equal(ttl))
	})

	It("waits longer for a session whose polls may last longer", func() {
		d := ready(nil, nil)
		long := func(s *session.Session) { s.Timeout, s.LeaseTTL = time.Minute, time.Hour }
		d.scan(doc("a", long))
		d.take()
		d.heldBy("a", peer, time.Second)
		d.event(redisevents.Gap{Restarted: true})
		d.sleep(time.Minute)
		Expect(d.claims()).To(BeEmpty())
		d.sleep(slack)
		Expect(d.claims()).To(Equal([]string{"a"}))
	})

	It("looks at everything after any other gap, and holds nothing back", func() {
		d := ready(nil, ids(1))
		d.heldBy("s0", peer, time.Second)
		d.event(redisevents.Gap{Reason: "connection"})
		o := d.take()
		Expect(o.list && o.scan).To(BeTrue())
		Expect(o.renew).To(BeFalse())
		d.scan(docs("s0")...)
		Expect(d.take().look).To(Equal([]string{"s0"}))
		d.sleep(1001 * time.Millisecond)
		Expect(d.claims()).To(Equal([]string{"s0"}))
	})
})
