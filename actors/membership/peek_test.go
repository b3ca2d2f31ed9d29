package membership

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"leasehold/lease"
	"leasehold/redisevents"
)

// turn has the session's lease go that another should have, and this node's turn come.
func turn() (d *desk, id string) {
	d = ready([]string{peer}, ids(2))
	_, others := d.mine()
	id = others[0]
	d.heldBy(id, peer, ttl)
	d.freed(id)
	d.take()
	d.peeks = true
	d.sleep(rankDelay)
	return d, id
}

var _ = Describe("a node whose turn it is", func() {
	It("looks at the lease, and claims nothing that another has by then", func() {
		d, id := turn()
		o := d.take()
		Expect(o.peek).To(Equal([]string{id}))
		Expect(o.claims).To(BeEmpty())
		d.peeked(lease.Status{Session: id, Holder: peer, Remaining: ttl})
		d.sleep(2 * ttl / 3)
		quiet(d.take())
		Expect(d.m.entries[id].holder).To(Equal(peer))
	})

	It("claims at once what it saw free", func() {
		d, id := turn()
		d.take()
		d.peeked(lease.Status{Session: id})
		Expect(d.claims()).To(Equal([]string{id}))
		d.grant(id)
		Expect(d.m.held).To(HaveKey(id))
	})

	It("looks once more where Redis did not answer, as long as it is nobody's", func() {
		d, id := turn()
		d.take()
		d.peeked(lease.Status{Session: id, Err: errRedis})
		d.sleep(mostPause - 1)
		Expect(d.take().peek).To(BeEmpty())
		d.sleep(1)
		Expect(d.take().peek).To(Equal([]string{id}))
		d.peeked(lease.Status{Session: id})
		Expect(d.claims()).To(Equal([]string{id}))
	})

	It("looks once at a time", func() {
		d, id := turn()
		d.take()
		d.freed(id)
		d.sleep(rankDelay)
		Expect(d.take().peek).To(BeEmpty())
	})

	It("does not claim what it may not claim any more when the answer comes", func() {
		for i, change := range []func(d *desk){
			func(d *desk) { d.m.onFenced(true, d.now); d.settle() },
			func(d *desk) { d.m.onDrain(); d.settle() },
			func(d *desk) { d.event(redisevents.Gap{Restarted: true}) },
			func(d *desk) { d.read(doc("s0", edition(2), paused), doc("s1", edition(2), paused)) },
			func(d *desk) { d.read(absent("s0"), absent("s1")) },
		} {
			d, id := turn()
			change(d)
			d.take()
			d.peeked(lease.Status{Session: id})
			Expect(d.claims()).To(BeEmpty(), "%d", i)
		}
	})

	It("does not take the look for the first one at all leases", func() {
		d, id := turn()
		d.m.onFenced(true, d.now)
		d.m.onFenced(false, d.now)
		d.m.onPeeked([]lease.Status{{Session: id}}, d.now)
		Expect(d.m.looked).To(BeFalse())
	})

	It("looks at new documents too, however many came, since the others may plan otherwise", func() {
		d := ready([]string{peer}, nil)
		d.peeks = true
		d.read(docs(ids(5 * burstSize)...)...)
		d.sleep(burstMost)
		d.sleep(rankDelay)
		_, others := d.mine()
		Expect(others).NotTo(BeEmpty())
		Expect(d.take().peek).To(ConsistOf(others))
	})
})

var _ = Describe("the plan after a restart of Redis", func() {
	It("counts as free what nobody can have taken yet", func() {
		d := ready([]string{peer}, nil)
		d.event(redisevents.Gap{Restarted: true})
		d.read(docs("s0", "s1")...)
		d.sleep(time.Second)
		for id, e := range d.m.entries {
			Expect(e.owner).NotTo(BeEmpty())
			Expect(d.m.holder(id, e, d.now)).To(BeEmpty(), e.owner)
		}
	})
})

// started is one of three nodes that start together, and is ready since a while.
func started(sessions int) *desk {
	d := newDesk()
	d.peeks = true
	d.list(peer, third)
	d.scan(docs(ids(sessions)...)...)
	d.sleep(settleMost)
	d.take()
	return d
}

func (d *desk) peeked(s lease.Status) {
	d.m.onPeeked([]lease.Status{s}, d.now)
	d.settle()
}

var _ = Describe("a node that does not know who took what", func() {
	It("looks at those leases when all should have holders, once", func() {
		d := started(6)
		mine, others := d.mine()
		Expect(len(others)).To(BeNumerically(">", 1))
		d.own(mine...)
		d.status(lease.Status{Session: others[0], Holder: peer, Remaining: ttl})
		since := d.now.Sub(d.m.started) - settle // it is ready
		d.sleep(newcomer - since - 1)
		Expect(d.take().look).To(BeEmpty())
		Expect(d.m.next(d.now)).To(Equal(d.now.Add(1)))
		d.sleep(1)
		Expect(d.take().look).To(ConsistOf(others[1:]))
		d.sleep(ttl / 3)
		Expect(d.take().look).To(BeEmpty())
	})

	It("learns from it what its plan was wrong about", func() {
		d := started(6)
		mine, others := d.mine()
		d.own(mine...)
		d.sleep(newcomer)
		d.take()
		holders := map[string]string{}
		for _, id := range others {
			holders[id] = peer
		}
		d.looks(holders, others) // the third took nothing
		d.sleep(settle)
		for _, id := range mine {
			Expect(d.m.entries[id].mine).To(BeTrue(), "this node has its share")
		}
		owners := map[string]int{}
		for _, id := range others {
			owners[d.m.entries[id].owner]++
		}
		Expect(owners).To(Equal(map[string]int{peer: 2, third: 2}))
	})

	It("looks again when all that Redis forgot should have holders", func() {
		d := ready([]string{peer}, ids(4))
		mine, others := d.mine()
		d.own(mine...)
		for _, id := range others {
			d.heldBy(id, peer, ttl)
		}
		d.sleep(newcomer)
		d.event(redisevents.Gap{Restarted: true})
		d.peeks = true
		d.sleep(ttl - 1)
		d.member(peer, 2*ttl)
		d.take()
		d.sleep(newcomer)
		Expect(d.take().look).To(BeEmpty())
		d.sleep(1)
		Expect(d.take().look).To(ConsistOf(others))
	})
})
