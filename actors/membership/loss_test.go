package membership

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"leasehold/actors/leaseholder"
	"leasehold/redisevents"
	"leasehold/session"
)

var _ = Describe("a node that starts after Redis lost data", func() {
	// asking returns a desk that would claim, and asks before it does.
	asking := func() *desk {
		d := newDesk()
		d.losses = true
		d.list(peer)
		d.scan(docs(ids(1)...)...)
		d.sleep(settleMost + settle)
		o := d.take()
		Expect(o.asksLoss).To(BeTrue())
		Expect(o.claims).To(BeEmpty())
		return d
	}
	answer := func(d *desk, noted bool, err error) {
		d.m.onLoss(0, noted, err, d.now, d.now)
		d.settle()
	}

	It("claims where nobody has noted it", func() {
		d := asking()
		answer(d, false, nil)
		d.sleep(2 * time.Second)
		Expect(d.claims()).To(Equal(ids(1)))
		Expect(d.fresh()).To(BeZero())
		d.sleep(time.Hour)
		Expect(d.take().asksLoss).To(BeFalse(), "once is enough")
	})

	It("leaves to the others what may be theirs, where somebody has", func() {
		d := asking()
		answer(d, true, nil)
		d.sleep(ttl - time.Millisecond)
		o := d.take()
		Expect(o.claims).To(BeEmpty())
		Expect(o.noteLoss).To(BeZero(), "it did not see it itself")
		d.sleep(2 * time.Second)
		Expect(d.claims()).To(Equal(ids(1)))
	})

	It("holds off no longer than those that saw it", func() {
		d := asking()
		d.m.onLoss(20*time.Second, true, nil, d.now, d.now)
		d.settle()
		d.sleep(ttl - 20*time.Second - time.Millisecond)
		Expect(d.take().claims).To(BeEmpty())
		d.sleep(2 * time.Second)
		Expect(d.claims()).To(Equal(ids(1)))
	})

	It("claims nothing before it has an answer, and asks again, less and less", func() {
		d := asking()
		asked := 0
		first := d.now
		for i := 1; d.now.Before(first.Add(ttl - 2*time.Second)); i++ {
			answer(d, false, errRedis)
			d.sleep(growing(i - 1))
			o := d.take()
			Expect(o.asksLoss).To(BeTrue())
			Expect(o.claims).To(BeEmpty())
			asked++
		}
		Expect(asked).To(BeNumerically("<", 20))
		answer(d, false, nil)
		d.sleep(2 * time.Second)
		Expect(d.claims()).To(Equal(ids(1)))
	})

	It("waits no longer for an answer than polls can take that went on when it asked first", func() {
		d := asking()
		for first := d.now; d.now.Before(first.Add(ttl)); {
			answer(d, false, errRedis)
			d.sleep(mostPause)
		}
		d.sleep(2 * time.Second)
		Expect(d.claims()).To(Equal(ids(1)))
	})

	It("does not spin while it waits", func() {
		d := asking()
		d.sleep(ttl) // the desk panics if it is woken at once, again and again
	})
})

var _ = Describe("a node that sees that Redis may have lost data", func() {
	It("keeps what it has for those that may hold off, until they do no more", func() {
		d := ready(nil, ids(10))
		for _, id := range ids(10) {
			d.own(id)
		}
		d.event(redisevents.Gap{Restarted: true, Server: "two"})
		d.member(peer, time.Hour)
		d.sleep(ttl + newcomer - time.Millisecond)
		Expect(told[*leaseholder.Release](d.take())).To(BeEmpty())
		d.sleep(2 * time.Second)
		Expect(told[*leaseholder.Release](d.take())).To(HaveLen(5))
	})

	It("tells those that start, for as long as a poll may go on", func() {
		d := ready(nil, ids(1))
		d.event(redisevents.Gap{Restarted: true, Server: "two"})
		Expect(d.take().noteLoss).To(Equal(ttl))
		d.scan(doc("s0", func(s *session.Session) {
			s.LeaseTTL, s.Timeout, s.Fingerprint = time.Hour, 2*time.Minute, 2
		}))
		d.event(redisevents.Gap{Restarted: true, Server: "three"})
		Expect(d.take().noteLoss).To(Equal(2*time.Minute + slack))
	})

	It("need not ask", func() {
		d := newDesk()
		d.losses = true
		d.event(redisevents.Gap{Restarted: true, Server: "two"})
		d.list()
		d.scan(docs(ids(1)...)...)
		d.sleep(time.Minute)
		o := d.take()
		Expect(o.asksLoss).To(BeFalse())
		Expect(o.claims).NotTo(BeEmpty())
	})
})
