package renewer_test

import (
	"fmt"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"leasehold/actors/renewer"
	"leasehold/internal/actortest"
	"leasehold/internal/bubble"
	"leasehold/lease"
)

var _ = Describe("releases", func() {
	It("go out in batches, and each is answered", func() {
		run(func(g Gomega, b *bench) {
			b.parent.Do(func(actor.Context) {})
			for i := range 5 {
				b.releaseOne(fmt.Sprint("s", i), time.Now().Add(trust))
			}
			bubble.Sleep(0)
			calls := b.stub.see("release")
			released := 0
			for _, c := range calls {
				g.Expect(len(c.sessions)).To(BeNumerically("<=", 3))
				released += len(c.sessions)
			}
			g.Expect(released).To(Equal(5))
			var answered []string
			for _, r := range actortest.All[*renewer.Released](b.holder) {
				g.Expect(r.Err).NotTo(HaveOccurred())
				answered = append(answered, r.Grant.Session)
			}
			g.Expect(answered).To(ConsistOf("s0", "s1", "s2", "s3", "s4"))
		}, func(c *renewer.Config) { c.BatchSize = 3 })
	})

	It("wait for no server but their own", func() {
		run(func(g Gomega, b *bench) {
			b.stub.place = func(session string) string { return session[:1] }
			for _, id := range []string{"a1", "h1", "a2", "h2"} {
				b.releaseOne(id, time.Now().Add(trust))
			}
			bubble.Sleep(0)
			var all []string
			for _, c := range b.stub.see("release") { // how many wait together is up to the mailbox
				all = append(all, c.sessions...)
				for _, id := range c.sessions {
					g.Expect(id[:1]).To(Equal(c.sessions[0][:1]), "in a call: %v", c.sessions)
				}
			}
			g.Expect(all).To(ConsistOf("a1", "a2", "h1", "h2"))
		})
	})

	It("end the renewals", func() {
		run(func(g Gomega, b *bench) {
			b.track("s", ttl)
			b.releaseOne("s", time.Now().Add(trust))
			bubble.Sleep(time.Minute)
			g.Expect(b.stub.see("renew")).To(BeEmpty())
			g.Expect(b.stub.see("release")).To(HaveLen(1))
		})
	})

	It("without an answer are tried again while the lease can be there, and given up then", func() {
		run(func(g Gomega, b *bench) {
			b.stub.release = func(lease.Release) error { return errRedis }
			b.releaseOne("s", time.Now().Add(time.Second))
			bubble.Sleep(time.Second)
			g.Expect(b.stub.times("release")).To(Equal(ms(0, 100, 200, 300, 400, 500, 600, 700, 800, 900)))
			released := actortest.All[*renewer.Released](b.holder)
			g.Expect(released).To(HaveLen(1))
			g.Expect(released[0].Err).To(MatchError(errRedis))
		})
	})

	It("that find the lease gone are not repeated", func() {
		run(func(g Gomega, b *bench) {
			b.stub.release = func(lease.Release) error { return lease.ErrLost }
			b.releaseOne("s", time.Now().Add(trust))
			bubble.Sleep(time.Minute)
			g.Expect(b.stub.see("release")).To(HaveLen(1))
			g.Expect(actortest.All[*renewer.Released](b.holder)[0].Err).To(MatchError(lease.ErrLost))
		})
	})

	It("answer for their own grant only, also where one of a batch is repeated", func() {
		run(func(g Gomega, b *bench) {
			failed := false
			b.stub.release = func(r lease.Release) error {
				if r.Session == "s" && !failed {
					failed = true
					return errRedis
				}
				return nil
			}
			b.releaseOne("s", time.Now().Add(trust))
			b.releaseOne("t", time.Now().Add(trust))
			bubble.Sleep(time.Second)
			var order []string
			for _, r := range actortest.All[*renewer.Released](b.holder) {
				g.Expect(r.Err).NotTo(HaveOccurred())
				order = append(order, r.Grant.Session)
			}
			g.Expect(order).To(Equal([]string{"t", "s"}))
		})
	})
})

var _ = Describe("a renewer that is stopped", func() {
	It("sets no timer any more", func() {
		run(func(g Gomega, b *bench) {
			b.track("s", ttl)
			b.track("t", 6*time.Second)
			b.parent.StopChild(b.pid)
			bubble.Sleep(time.Minute)
			g.Expect(b.stub.see("renew")).To(BeEmpty())
			g.Expect(b.stub.see("beat")).To(BeEmpty())
			g.Expect(b.parent.Kinds()).To(Equal([]string{"Terminated"}))
		})
	})
})
