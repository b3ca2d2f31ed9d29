package membership_test

import (
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"leasehold/internal/bubble"
	"leasehold/redisevents"
)

var _ = Describe("the membership actor over several servers of which one hangs", func() {
	It("goes on with what the others have, and forgets nothing of it", func() {
		run(map[string]string{"a0": good, "h0": good}, func(g Gomega, b *bench) {
			bubble.Sleep(time.Second)
			b.take()
			b.redis.with(func(r *redis) {
				r.hung, r.peers = "h", []string{"home-1-00000001", "peer-1-00000001"}
				r.docs["a1"], r.docs["h1"] = good, good
				// It is another's while the plan settles, and then free.
				r.leases["a2"], r.docs["a2"] = "other", good
			})
			b.event(redisevents.SessionTouched{ID: "a1"})
			b.event(redisevents.SessionTouched{ID: "h1"})
			bubble.Sleep(300 * time.Millisecond)
			g.Expect(b.take()).To(Equal([]string{"made a1"}))
			bubble.Sleep(12 * time.Second) // a2 by a scan, which is not complete
			b.redis.with(func(r *redis) { delete(r.leases, "a2") })
			b.event(redisevents.LeaseFreed{Session: "a2", Cause: redisevents.Deleted})
			bubble.Sleep(5 * time.Second)
			g.Expect(b.system.Events("member.joined")).To(HaveLen(1))
			g.Expect(b.holds()).To(BeNumerically("<=", 4))
			g.Expect(b.system.Events("session.removed")).To(BeEmpty())
			g.Expect(b.system.Events("session.added")).To(HaveLen(2), "a1 and a2")

			b.redis.with(func(r *redis) { r.hung = "" })
			bubble.Sleep(12 * time.Second)
			g.Expect(b.system.Events("session.added")).To(HaveLen(3))
			g.Expect(b.system.Events("member.joined")).To(HaveLen(2))
			b.redis.with(func(r *redis) { r.hung = "h" })
			bubble.Sleep(time.Minute)
			g.Expect(b.system.Events("member.expired")).To(BeEmpty())
			g.Expect(b.system.Events("member.left")).To(BeEmpty())
			b.redis.with(func(r *redis) { r.hung = "" })
			bubble.Sleep(3 * time.Second) // its claims are answered
		})
	})

	It("claims at those that answer", func() {
		docs := many(20)
		for i := range 5000 {
			docs[fmt.Sprint("h", i)] = good
		}
		run(docs, func(g Gomega, b *bench) {
			bubble.Sleep(time.Second)
			g.Expect(b.holds()).To(Equal(20))
			bubble.Sleep(2500 * time.Millisecond) // its claims are put off
			b.redis.with(func(r *redis) { r.docs["s20"] = good })
			b.event(redisevents.SessionTouched{ID: "s20"})
			bubble.Sleep(250 * time.Millisecond)
			g.Expect(b.holds()).To(Equal(21))
			b.redis.with(func(r *redis) { r.hung = "" })
			bubble.Sleep(5 * time.Second)
			g.Expect(b.holds()).To(Equal(5021))
		}, func(b *bench) {
			b.redis.hung = "h"
			b.redis.readable = true
		})
	})
})
