package poller_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"leasehold/internal/bubble"
	"leasehold/lease"
)

var _ = Describe("a poll in flight", func() {
	It("is known to its cell from when Redis has begun it until it has ended", func() {
		run(func(g Gomega, b *bench) {
			busy := func() time.Duration { return b.cell.Busy(time.Now()) }
			b.stub.begin = func(lease.Slot) (lease.Start, error) {
				time.Sleep(time.Second)
				return lease.Start{At: time.Now()}, nil
			}
			b.stub.poll = takes(3 * time.Second)
			s := doc()
			s.Timeout = 20 * time.Second
			b.start(s, 0)
			bubble.Sleep(time.Second - 1)
			g.Expect(busy()).To(BeZero(), "another's may be in flight still")
			bubble.Sleep(2)
			g.Expect(busy()).To(BeNumerically("~", s.Timeout, 4*time.Second))
			bubble.Sleep(3 * time.Second)
			g.Expect(busy()).To(BeZero())
		})
	})

	It("is unknown where Redis says that it must wait", func() {
		run(func(g Gomega, b *bench) {
			b.stub.begin = func(lease.Slot) (lease.Start, error) { return lease.Start{Wait: time.Minute}, nil }
			b.start(doc(), 0)
			bubble.Sleep(time.Second)
			g.Expect(b.stub.see().begins).To(HaveLen(1))
			g.Expect(b.cell.Busy(time.Now())).To(BeZero())
		})
	})

	It("may send nothing any more once its own time is over, whatever its lease says", func() {
		run(func(g Gomega, b *bench) {
			b.start(doc(), 0)
			bubble.Sleep(0)
			holds := b.stub.see().jobs[0].Holds
			bubble.Sleep(b.stub.see().slots[0].Bound - 1)
			g.Expect(holds()).To(BeTrue())
			bubble.Sleep(1)
			g.Expect(holds()).To(BeFalse(), "Redis was told no later")
			g.Expect(b.cell.Usable()).To(BeTrue())
		})
	})
})
