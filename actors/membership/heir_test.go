package membership

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"leasehold/actors/leaseholder"
	"leasehold/lease"
	"leasehold/redisevents"
)

// heir is a node whose only peer has gone, and the sessions that it inherits. Its looks at
// leases wait for answers.
func heir(sessions int) (d *desk, inherited []string) {
	d = ready([]string{peer}, ids(sessions))
	mine, others := d.mine()
	d.own(mine...)
	for _, id := range others { // as it saw them when it came
		d.heldBy(id, peer, time.Second)
	}
	d.sleep(ttl)
	d.take()
	d.peeks = true
	d.member(peer, 0)
	return d, others
}

// lateHeir is a node that took a session by fallback which another should have inherited.
func lateHeir() (d *desk, late string) {
	d = ready([]string{peer, third}, ids(30))
	mine, _ := d.mine()
	d.own(mine...)
	for id, e := range d.m.entries {
		if !e.mine {
			d.heldBy(id, e.owner, time.Second)
		}
	}
	d.sleep(ttl)
	d.peeks = true
	d.member(third, 0)
	for id, e := range d.m.entries {
		if e.owner == peer && e.holder == third {
			late = id
		}
	}
	Expect(late).NotTo(BeEmpty())
	d.sleep(time.Second)
	d.event(redisevents.LeaseFreed{Session: late, Cause: redisevents.Expired})
	d.take()
	d.sleep(rankDelay)
	Expect(d.take().peek).To(Equal([]string{late}))
	d.peeked(lease.Status{Session: late})
	d.grant(late)
	return d, late
}

var _ = Describe("the heir of a node that has gone", func() {
	It("looks at the leases of a node that has gone, which mostly outlive it, and claims each at its deadline", func() {
		d, others := heir(10)
		o := d.take()
		Expect(o.peek).To(ConsistOf(others))
		Expect(o.claims).To(BeEmpty())
		for i, id := range others {
			d.peeked(lease.Status{Session: id, Holder: peer, Remaining: time.Duration(i) * time.Second})
		}
		for _, id := range others {
			d.sleep(touchAfter)
			Expect(d.claims()).To(Equal([]string{id}))
			d.grant(id)
			d.sleep(time.Second - touchAfter)
		}
	})

	It("counts such sessions as its own until their leases end, lest two nodes plan otherwise", func() {
		d, others := heir(10)
		holders := func() (all []string) {
			for _, id := range others {
				all = append(all, d.m.holder(id, d.m.entries[id], d.now))
			}
			return all
		}
		Expect(holders()).To(HaveEach(self), "while it looks")
		for _, id := range others {
			d.peeked(lease.Status{Session: id, Holder: peer, Remaining: time.Second})
		}
		Expect(holders()).To(HaveEach(self), "while it waits")
	})

	It("looks again soon where such a look has no answer", func() {
		d, others := heir(2)
		d.take()
		d.peeked(lease.Status{Session: others[0], Err: errRedis})
		d.sleep(firstPause)
		Expect(d.claims()).To(Equal(others))
	})

	It("does not suspect the heir of a node that died, nor count it as full, when it is late", func() {
		d, _ := lateHeir()
		Expect(d.m.fleet.lives(peer)).To(BeTrue())
		Expect(d.m.fleet.full(peer, d.now)).To(BeFalse())
	})

	It("counts it as full when it does not take that session at the next chance either, heard or not", func() {
		d, late := lateHeir()
		d.peeks = false
		d.sleep(2 * settle)
		Expect(reasons(d.take())).To(ContainElement(leaseholder.Rebalance))
		d.ends(late, leaseholder.Ended{Released: true, Reason: leaseholder.Rebalance})
		d.take()
		d.sleep(rankDelay)
		Expect(d.claims()).To(Equal([]string{late}))
		d.grant(late)
		Expect(d.m.fleet.full(peer, d.now)).To(BeTrue())
	})

	It("claims at once what such a look finds free", func() {
		d, others := heir(2)
		d.peeked(lease.Status{Session: others[0]})
		o := d.take()
		Expect(o.claims).To(HaveLen(1))
		Expect(o.claims[0].Session).To(Equal(others[0]))
		Expect(d.m.asking[others[0]].why).To(Equal(byPlan))
	})
})
