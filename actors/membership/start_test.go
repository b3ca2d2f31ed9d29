package membership

import (
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"leasehold/lease"
	"leasehold/planner"
	"leasehold/rediskey"
	"leasehold/session"
)

var _ = Describe("nodes that start together", func() {
	It("leave each other what they saw free before they were ready, and time to be so", func() {
		now := time.Unix(1_000_000, 0)
		m := newMachine(Settings{
			Instance: "me", TTL: 30 * time.Second, Reconcile: 10 * time.Second, Keys: rediskey.Default(),
		}, now)
		m.onList([]lease.Member{
			{Instance: "me", Remaining: time.Minute}, {Instance: "other", Remaining: time.Minute}, {Instance: "third", Remaining: time.Minute},
		}, now)
		var found []document
		var free []lease.Status
		for i := range 30 {
			id := fmt.Sprint("s", i)
			found = append(found, document{id: id, session: &session.Session{ID: id, Kind: session.HTTP, Interval: time.Second}})
			free = append(free, lease.Status{Session: id})
		}
		m.onScan(found, now, now)
		m.onStatuses(free, now)
		m.onTime(now)
		in := m.take().plan
		m.onPlan(in, planner.Assign(in.View), now)

		claimed := map[bool]int{} // by whether it is mine
		for after := time.Duration(0); after < 2*settle; after += time.Millisecond {
			m.onTime(now.Add(after))
			if !m.looked { // once more, when the node is ready
				m.onStatuses(free, now.Add(after))
				m.onTime(now.Add(after))
				in := m.take().plan
				m.onPlan(in, planner.Assign(in.View), now.Add(after))
			}
			o := m.take()
			if o.asksLoss {
				m.onLoss(0, false, nil, now.Add(after), now.Add(after))
			}
			for _, c := range o.claims {
				claimed[m.entries[c.Session].mine]++
			}
		}
		Expect(claimed).To(Equal(map[bool]int{true: 10}))
		m.onTime(now.Add(3*settle + time.Millisecond)) // for that long it asked what Redis lost
		Expect(m.take().peek).To(HaveLen(20))
	})

	It("try nothing that one which was sooner has taken meanwhile, and take it when that gives it up", func() {
		d := newDesk()
		d.list(peer)
		d.scan(docs(ids(10)...)...) // the first look finds all free
		d.take()
		d.now = d.now.Add(settle)
		d.m.onTime(d.now)
		looked := d.m.take().look
		Expect(looked).To(HaveLen(10))
		var taken []lease.Status
		for _, id := range looked {
			taken = append(taken, lease.Status{Session: id, Holder: peer, Remaining: ttl})
		}
		d.m.onStatuses(taken, d.now)
		d.settle()
		d.sleep(settle)
		Expect(d.take().claims).To(BeEmpty())
		mine := 0
		for id, e := range d.m.entries {
			if e.mine {
				mine++
				d.freed(id)
			}
		}
		Expect(mine).To(Equal(5))
		Expect(d.take().claims).To(HaveLen(5))
	})

	It("begin without a second look where there is no other", func() {
		d := newDesk()
		d.list()
		d.scan(docs(ids(10)...)...)
		d.take()
		d.sleep(settle)
		o := d.take()
		Expect(o.look).To(BeEmpty())
		Expect(o.claims).To(HaveLen(10))
	})
})
