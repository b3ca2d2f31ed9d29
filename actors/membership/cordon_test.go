package membership

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"leasehold/actors/leaseholder"
	"leasehold/eventlog"
	"leasehold/lease"
	"leasehold/redisevents"
)

// cordon plays that an operator wants something of a node, and the look that follows.
func (d *desk) cordon(instance string, c lease.Cordon) {
	d.event(redisevents.NodeMarked{Instance: instance})
	Expect(d.take().check).To(Equal([]string{instance}))
	d.m.onMembers([]lease.Member{{Instance: instance, Remaining: ttl, Cordon: c}}, d.now)
	d.settle()
}

var _ = Describe("a cordon", func() {
	for _, c := range []lease.Cordon{lease.Cordoned, lease.Drained} {
		It("keeps this node from all sessions that are free, "+string(c), func() {
			d := ready([]string{peer}, nil)
			d.cordon(self, c)
			d.read(docs(ids(8)...)...)
			for _, id := range ids(8) {
				d.freed(id)
			}
			d.sleep(2 * ttl)
			Expect(d.take().claims).To(BeEmpty())
		})

		It("lets this node repeat a claim that had no answer, lest it hold what it does not poll, "+string(c), func() {
			d := ready(nil, ids(1))
			d.answer(lease.Outcome{Session: "s0", Err: errRedis})
			d.take()
			d.cordon(self, c)
			d.sleep(time.Second)
			Expect(d.claims()).To(Equal([]string{"s0"}))
		})

		It("keeps the plan from giving new sessions to another node, "+string(c), func() {
			d := ready([]string{peer}, nil)
			d.cordon(peer, c)
			d.read(docs(ids(8)...)...)
			d.sleep(time.Second)
			Expect(d.claims()).To(HaveLen(8))
		})

		It("is told once, and its end", func() {
			d := ready(nil, nil)
			d.cordon(self, c)
			d.m.onMembers([]lease.Member{{Instance: self, Remaining: ttl, Cordon: c}}, d.now)
			d.settle()
			o := d.take()
			Expect(o.logs).To(Equal([]eventlog.Event{eventlog.NodeCordoned{Reason: string(c)}}))
			d.cordon(self, lease.Open)
			Expect(d.take().logs).To(Equal([]eventlog.Event{eventlog.NodeUncordoned{}}))
		})

		It("of another node is that node's to tell, "+string(c), func() {
			d := ready([]string{peer}, nil)
			d.cordon(peer, c)
			Expect(d.take().logs).To(BeEmpty())
		})

		It("counts from the first look at a node on, "+string(c), func() {
			d := ready(nil, nil)
			d.m.onMembers([]lease.Member{{Instance: peer, Remaining: ttl, Cordon: c}}, d.now)
			d.settle()
			d.read(docs(ids(8)...)...)
			d.sleep(time.Second)
			mine, _ := d.mine()
			Expect(mine).To(HaveLen(8))
		})

		It("does not count as a turn among the nodes that try a free session, "+string(c), func() {
			d := ready([]string{peer, third}, ids(30))
			d.m.onMembers([]lease.Member{
				{Instance: peer, Remaining: ttl, Cordon: c}, {Instance: third, Remaining: ttl, Cordon: c},
			}, d.now)
			for _, e := range d.m.entries {
				if !e.mine {
					Expect(d.m.rank(e)).To(Equal(1))
				}
			}
		})
	}

	It("that cordons leaves a node what it has", func() {
		d := ready([]string{peer}, ids(8))
		for _, id := range ids(8) {
			d.takes(id)
		}
		d.cordon(self, lease.Cordoned)
		d.sleep(12 * time.Second) // the other let them pass, and counts as full for ten
		// The other takes its half, as without a cordon.
		Expect(reasons(d.take())).To(HaveLen(4))
	})

	It("that drains has this node give up all that others take", func() {
		d := ready([]string{peer}, ids(8))
		for _, id := range ids(8) {
			d.takes(id)
		}
		d.cordon(self, lease.Drained)
		d.sleep(12 * time.Second) // the other let them pass, and counts as full for ten
		Expect(reasons(d.take())).To(Equal([]leaseholder.Reason{
			leaseholder.Rebalance, leaseholder.Rebalance, leaseholder.Rebalance, leaseholder.Rebalance,
			leaseholder.Rebalance, leaseholder.Rebalance, leaseholder.Rebalance, leaseholder.Rebalance,
		}))
	})

	It("that drains the only node leaves it what it has: nobody else would poll", func() {
		d := ready(nil, ids(3))
		for _, id := range ids(3) {
			d.takes(id)
		}
		d.cordon(self, lease.Drained)
		d.sleep(time.Minute)
		quiet(d.take())
		d.list(peer) // who can take them
		d.sleep(5 * time.Second)
		Expect(reasons(d.take())).To(HaveLen(3))
	})

	It("that ends has the node take its share again", func() {
		d := ready([]string{peer}, nil)
		d.cordon(self, lease.Drained)
		d.read(docs(ids(8)...)...)
		for _, id := range ids(8) {
			d.status(lease.Status{Session: id, Holder: peer, Remaining: ttl})
		}
		d.sleep(ttl / 2)
		Expect(d.take().claims).To(BeEmpty())
		d.cordon(self, lease.Open)
		d.sleep(time.Second)
		mine, _ := d.mine()
		Expect(mine).To(HaveLen(4))
		for _, id := range mine {
			d.freed(id)
		}
		Expect(d.claims()).To(ConsistOf(mine))
	})

	It("of a node that is not known leads nowhere", func() {
		d := ready(nil, nil)
		d.event(redisevents.NodeMarked{Instance: "nobody"})
		Expect(d.take().check).To(BeEmpty())
	})

	It("does not suspect or fill up a node that takes nothing", func() {
		d := ready([]string{peer}, ids(8))
		d.cordon(peer, lease.Cordoned)
		for _, id := range ids(8) {
			d.freed(id)
			d.sleep(time.Second)
			d.grant(id)
		}
		d.cordon(peer, lease.Open)
		Expect(d.m.fleet.full(peer, d.now)).To(BeFalse())
		d.sleep(5 * time.Second)
		Expect(reasons(d.take())).To(HaveLen(4))
	})
})
