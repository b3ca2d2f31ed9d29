package membership

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"leasehold/lease"
	"leasehold/redisevents"
)

var _ = Describe("a node among others", func() {
	It("keeps its turn behind the node of the plan also when all held off after a restart", func() {
		d := ready([]string{peer}, ids(2))
		mine, others := d.mine()
		d.own(mine...)
		d.heldBy(others[0], peer, ttl)
		d.event(redisevents.Gap{Restarted: true})
		d.freed(others[0])
		d.take()
		d.sleep(ttl - time.Second)
		d.member(peer, ttl)
		d.sleep(time.Second + rankDelay - time.Millisecond)
		Expect(d.take().claims).To(BeEmpty())
		d.sleep(time.Millisecond)
		Expect(d.claims()).To(Equal(others))
		d.grant(others[0])
		Expect(d.m.fleet.full(peer, d.now)).To(BeFalse(), "it may have heard of the restart later")
	})

	It("lets the node that the plan names come first, and takes a free session in its turn", func() {
		d := ready([]string{peer}, ids(2))
		mine, others := d.mine()
		Expect(mine).To(HaveLen(1))
		d.own(mine...)
		d.heldBy(others[0], peer, time.Second) // an answer to nothing
		d.take()
		d.freed(others[0])
		d.sleep(rankDelay - 1)
		quiet(d.take())
		d.sleep(1)
		Expect(d.claims()).To(Equal(others))
	})

	It("gives a node that it has just seen first more time, since that may be settling", func() {
		d := newDesk()
		d.list(peer)
		d.scan(docs(ids(2)...)...)
		d.sleep(settle)
		_, others := d.mine()
		Expect(d.claims()).NotTo(ContainElements(others))
		d.sleep(settle - 1)
		quiet(d.take())
		d.sleep(1)
		Expect(d.claims()).To(Equal(others))
	})

	It("comes second among three, after half a second", func() {
		peers := []string{peer, "third-1-00000003"}
		d := ready(peers, ids(30))
		turns := map[time.Duration]int{}
		_, others := d.mine()
		for _, id := range others {
			d.take()
			d.heldBy(id, peer, ttl)
			d.take()
			d.freed(id)
			turn := d.m.rankTurn(id)
			turns[turn]++
			d.sleep(turn - 1)
			Expect(d.claims()).NotTo(ContainElement(id))
			d.sleep(1)
			Expect(d.claims()).To(ContainElement(id))
		}
		Expect(turns).To(HaveLen(2))
		Expect(turns).To(And(HaveKey(rankDelay), HaveKey(2*rankDelay)))
	})

	It("does not lose its turn to an appointment that leads nowhere", func() {
		d := ready([]string{peer}, ids(2))
		_, others := d.mine()
		d.heldBy(others[0], peer, ttl)
		d.take()
		e := d.m.entries[others[0]]
		d.m.wake(others[0], e, d.now.Add(100*time.Millisecond), byPlan)
		d.freed(others[0])
		d.sleep(rankDelay)
		Expect(d.claims()).To(ContainElement(others[0]))
	})

	It("tries a dead node's session well within the bound of failover, though its heartbeat lives on", func() {
		Expect(rankDelay).To(BeNumerically("<", 200*time.Millisecond))
	})

	// A heartbeat can outlive the leases: where its TTL is longer, or a session has a
	// shorter one of its own.
	It("suspects a node whose lease an event said to have run out once another has it, for good", func() {
		for _, found := range []func(d *desk, id string){
			func(d *desk, id string) {
				d.sleep(rankDelay)
				d.grant(id)
			},
			func(d *desk, id string) {
				d.sleep(rankDelay)
				d.heldBy(id, external, ttl)
			},
			func(d *desk, id string) { d.status(lease.Status{Session: id, Holder: external, Remaining: ttl}) },
		} {
			d := ready([]string{peer}, ids(4))
			d.m.fleet.nodes[peer].seen = d.now.Add(-newcomer)
			mine, others := d.mine()
			d.own(mine...)
			d.heldBy(others[0], peer, ttl)
			d.heldBy(others[1], peer, ttl)
			d.take()
			d.event(redisevents.LeaseFreed{Session: others[0], Cause: redisevents.Expired})
			Expect(d.m.fleet.lives(peer)).To(BeTrue(), "it may claim it again")
			found(d, others[0])
			Expect(d.m.fleet.lives(peer)).To(BeFalse())
			Expect(d.m.fleet.full(peer, d.now)).To(BeFalse(), "it has no share to come back to")
			Expect(d.take().check).To(ContainElement(peer))
			Expect(d.m.entries[others[1]].mine).To(BeTrue(), "its other sessions are planned anew")

			// What it wrote before it died was not read yet, and is no sign of life.
			d.member(peer, 2*ttl)
			Expect(d.m.fleet.lives(peer)).To(BeFalse())
			d.sleep(time.Second)
			d.member(peer, 2*ttl)
			Expect(d.m.fleet.lives(peer)).To(BeTrue(), "this beat came after")
		}
	})

	It("suspects nobody who claims again what ran out, or who gave it back", func() {
		for _, story := range []func(d *desk, id string){
			func(d *desk, id string) {
				d.event(redisevents.LeaseFreed{Session: id, Cause: redisevents.Expired})
				d.sleep(rankDelay)
				d.heldBy(id, peer, ttl)
			},
			func(d *desk, id string) {
				d.event(redisevents.LeaseFreed{Session: id, Cause: redisevents.Expired})
				d.freed(id) // it was claimed and given back since
				d.sleep(rankDelay)
				d.grant(id)
			},
		} {
			d := ready([]string{peer}, ids(4))
			mine, others := d.mine()
			d.own(mine...)
			d.heldBy(others[0], peer, ttl)
			story(d, others[0])
			Expect(d.m.fleet.lives(peer)).To(BeTrue())
		}
	})

	It("suspects a node whose lease ran out although it lives, until it is heard again", func() {
		d := ready([]string{peer}, ids(2))
		mine, others := d.mine()
		d.heldBy(mine[0], peer, time.Second)
		d.heldBy(others[0], peer, ttl)
		d.sleep(1001 * time.Millisecond)
		d.grant(mine[0])
		o := d.take()
		Expect(o.check).To(ContainElement(peer))
		Expect(d.m.fleet.lives(peer)).To(BeFalse())
		Expect(d.m.entries[others[0]].mine).To(BeTrue(), "its sessions are planned anew")
		d.member(peer, ttl-readyAfter-1001*time.Millisecond) // the beat that was known already
		Expect(d.m.fleet.lives(peer)).To(BeFalse())
		d.sleep(time.Second)
		d.member(peer, ttl)
		Expect(d.m.fleet.lives(peer)).To(BeTrue())
		Expect(d.m.entries[others[0]].mine).To(BeFalse())
	})
})

// rankTurn is how long this node waits for its turn.
func (m *machine) rankTurn(id string) time.Duration {
	return time.Duration(m.rank(m.entries[id])) * rankDelay
}
