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
	It("leave each other what they saw free before they were ready", func() {
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
		for after := time.Duration(0); after < settle+rankDelay; after += time.Millisecond {
			m.onTime(now.Add(after))
			for _, c := range m.take().claims {
				claimed[m.entries[c.Session].mine]++
			}
		}
		Expect(claimed).To(Equal(map[bool]int{true: 10}))
		m.onTime(now.Add(settle + 2*rankDelay))
		Expect(m.take().peek).To(HaveLen(20))
	})
})
