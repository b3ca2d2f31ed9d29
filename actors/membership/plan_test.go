package membership

import (
	"fmt"
	"strconv"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"leasehold/actors/leaseholder"
	"leasehold/lease"
)

const third = "third-1-00000003"

// looks answers looks at leases: who has which lease. A session that is not named is free.
func (d *desk) looks(holders map[string]string, sessions []string) {
	var list []lease.Status
	for _, id := range sessions {
		s := lease.Status{Session: id}
		if holder := holders[id]; holder != "" {
			s.Holder, s.Remaining = holder, ttl
		}
		list = append(list, s)
	}
	d.m.onStatuses(list, d.now)
	d.settle()
}

// takes makes the node hold a session, whoever should have it.
func (d *desk) takes(id string) {
	if d.m.asking[id] == nil {
		d.m.asking[id] = &ask{why: byEvent, ttl: ttl}
	}
	d.grant(id)
	Expect(d.m.held).To(HaveKey(id))
	d.take()
}

var _ = Describe("the plan", func() {
	It("is not made before the leases were looked at, whether or not Redis answers", func() {
		m := newDesk().m
		d := &desk{m: m, now: m.started}
		m.onList([]lease.Member{{Instance: self, Remaining: ttl}}, d.now)
		m.onScan(docs("s0"), d.now, d.now)
		m.onTime(d.now)
		o := m.take()
		Expect(o.look).To(Equal([]string{"s0"}))
		Expect(o.plan).To(BeNil())
		m.onStatuses([]lease.Status{{Session: "s0", Err: errRedis}}, d.now)
		m.onTime(d.now)
		Expect(m.take().plan).NotTo(BeNil())
	})

	It("gives a node that joins what the others have too much, and no more", func() {
		d := newDesk()
		d.list(peer, third)
		sessions := ids(12)
		holders := map[string]string{}
		for i, id := range sessions {
			holders[id] = []string{peer, third}[i%2]
		}
		d.m.onScan(docs(sessions...), d.now, d.now)
		d.m.onTime(d.now)
		d.m.take()
		d.looks(holders, sessions)
		mine, _ := d.mine()
		Expect(mine).To(HaveLen(4))
		from := map[string]int{}
		for _, id := range mine {
			from[holders[id]]++
		}
		Expect(from).To(Equal(map[string]int{peer: 2, third: 2}))
	})

	It("leaves everything where it is in a fleet that is balanced, whoever the hash prefers", func() {
		for shift := range 3 {
			d := ready([]string{peer, third}, ids(10))
			holders := map[string]string{}
			for i, id := range ids(10) {
				switch (i + shift) % 3 {
				case 0:
					d.takes(id)
				case 1:
					holders[id] = peer
				case 2:
					holders[id] = third
				}
			}
			for id, holder := range holders {
				d.heldBy(id, holder, ttl)      // where it was claimed
				d.looks(holders, []string{id}) // where not
			}
			for range 60 {
				d.sleep(time.Second)
				for id, holder := range holders {
					if d.m.asking[id] != nil {
						d.heldBy(id, holder, ttl)
					}
				}
				Expect(d.take().tells).To(BeEmpty())
			}
			for id, holder := range holders {
				Expect(d.m.entries[id].owner).To(Equal(holder), id)
			}
		}
	})

	It("lets a session stay where it was taken in another's place, while there is room", func() {
		d := ready([]string{peer}, ids(4))
		mine, others := d.mine()
		d.own(mine[0])
		d.heldBy(mine[1], peer, ttl) // the other node was first
		d.heldBy(others[0], peer, ttl)
		d.takes(others[1])
		for range 60 {
			d.sleep(time.Second) // longer than a claim takes
			if d.m.asking[others[0]] != nil {
				d.heldBy(others[0], peer, ttl)
			}
			Expect(d.take().tells).To(BeEmpty())
		}
		Expect(d.m.entries[others[1]].mine).To(BeTrue())
	})

	It("has a node that did not take its sessions counted as full, so that nothing goes round in circles", func() {
		d := crowd(8)
		d.m.fleet.nodes[peer].seen = d.now.Add(-newcomer)
		d.sleep(settle)
		_, others := d.mine()
		Expect(reasons(d.take())).To(HaveLen(4))
		for _, id := range others {
			d.ends(id, leaseholder.Ended{Released: true, Reason: leaseholder.Rebalance})
		}
		d.sleep(rankDelay)
		Expect(d.claims()).To(ConsistOf(others))
		for _, id := range others[:3] {
			d.grant(id)
		}
		d.heldBy(others[3], peer, ttl) // it has room for one
		d.take()
		for range 9 {
			d.sleep(time.Second)
			d.member(peer, ttl)
			quiet(d.take())
		}
		Expect(d.m.held).To(HaveLen(7))
	})

	It("counts a node that has just joined as full only until it must be ready", func() {
		d := crowd(8)
		d.sleep(settle)
		_, others := d.mine()
		Expect(reasons(d.take())).To(HaveLen(4))
		for _, id := range others {
			d.ends(id, leaseholder.Ended{Released: true, Reason: leaseholder.Rebalance})
		}
		d.sleep(settle)
		Expect(d.claims()).To(ConsistOf(others))
		for _, id := range others {
			d.grant(id)
		}
		d.take()
		d.sleep(newcomer - settle - settle - 1)
		quiet(d.take())
		d.sleep(settle + 1)
		Expect(reasons(d.take())).To(HaveLen(4))
	})

	It("forgets that a node let a session pass when that was long ago", func() {
		f := newFleet(self)
		now := time.Unix(1_000_000, 0)
		f.see(lease.Member{Instance: peer, Remaining: ttl}, now)
		n := f.nodes[peer]
		for _, step := range []struct{ after, keep time.Duration }{
			{time.Minute, 10 * time.Second},
			{12 * time.Second, 20 * time.Second},
			{22 * time.Second, 40 * time.Second},
			{2*time.Minute + time.Second, 10 * time.Second},
		} {
			now = now.Add(step.after)
			f.reopen(now)
			f.decline(peer, now, 10*time.Second, time.Hour)
			Expect(n.keep).To(Equal(step.keep))
			Expect(f.full(peer, now.Add(step.keep-1))).To(BeTrue())
			Expect(f.full(peer, now.Add(step.keep))).To(BeFalse())
		}
	})

	It("keeps the node's own limit", func() {
		d := newDesk(func(s *Settings) { s.MaxSessions = 2 })
		d.list(peer)
		d.scan(docs(ids(10)...)...)
		mine, _ := d.mine()
		Expect(mine).To(HaveLen(2))
	})

	It("presumes that a node has taken what it was given, but not what has been freed since", func() {
		d := ready([]string{peer}, ids(2))
		_, others := d.mine()
		e := d.m.entries[others[0]]
		Expect(d.m.holder(others[0], e, d.now)).To(Equal(peer))
		d.freed(others[0])
		Expect(d.m.holder(others[0], e, d.now)).To(BeEmpty())
		Expect(d.m.holder(others[0], e, d.now.Add(settle))).To(Equal(peer))
		d.member(peer, 0)
		Expect(d.m.holder(others[0], e, d.now.Add(settle))).NotTo(Equal(peer), "it does not live any more")
	})

	It("counts a document that came before the last one as its owner's, as the owner does", func() {
		d := ready([]string{peer}, ids(10))
		for i := range 4 {
			id := fmt.Sprint("new", i)
			d.read(docs(id)...)
			owner := self
			if !d.m.entries[id].mine {
				owner = peer
			}
			Expect(d.m.holder(id, d.m.entries[id], d.now)).To(Equal(owner), id)
		}
	})

	It("is made once for many leases that drifted", func() {
		d := ready([]string{peer}, ids(100))
		mine, _ := d.mine()
		plans := 0
		for _, id := range mine {
			d.m.onOutcomes([]lease.Outcome{{Session: id, Holder: peer, Remaining: ttl}}, d.now, d.now)
			d.now = d.now.Add(time.Millisecond)
			d.m.onTime(d.now)
			if in := d.m.take().plan; in != nil {
				plans++
				d.m.planning = false
			}
		}
		Expect(plans).To(Equal(1), strconv.Itoa(len(mine)))
	})
})
