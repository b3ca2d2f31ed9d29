package renewer_test

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"leasehold/actors/renewer"
	"leasehold/internal/actortest"
	"leasehold/internal/bubble"
	"leasehold/lease"
	"leasehold/lease/cell"
)

var _ = Describe("renewals", func() {
	It("come every ten seconds, the heartbeat first and then all leases in one burst", func() {
		run(func(g Gomega, b *bench) {
			for i := range 3 {
				b.track(fmt.Sprint("s", i), ttl)
			}
			bubble.Sleep(30 * time.Second)
			b.stub.mu.Lock()
			defer b.stub.mu.Unlock()
			all := []string{"s0", "s1", "s2"}
			g.Expect(b.stub.calls).To(Equal([]call{
				{at: interval, what: "beat"},
				{at: interval, what: "renew", sessions: all, ttl: ttl},
				{at: 2 * interval, what: "beat"},
				{at: 2 * interval, what: "renew", sessions: all, ttl: ttl},
				{at: 3 * interval, what: "beat"},
				{at: 3 * interval, what: "renew", sessions: all, ttl: ttl},
			}))
			g.Expect(b.holder.Got()).To(BeEmpty())
		})
	})

	It("begin apart on nodes that start together, up to half an interval sooner", func() {
		firsts := make(map[time.Duration]bool)
		for i := range 20 {
			run(func(g Gomega, b *bench) {
				b.track("s", ttl)
				b.track("short", ttl/2)
				bubble.Sleep(30 * time.Second)
				times := b.stub.times("beat")
				first := times[0]
				g.Expect(first).To(And(BeNumerically(">", interval/2), BeNumerically("<=", interval)))
				g.Expect(times[:3]).To(Equal([]time.Duration{first, first + interval, first + 2*interval}))
				renewed := b.stub.times("renew")
				g.Expect(renewed).To(ContainElements(first, first+interval, first+2*interval))
				g.Expect(renewed[0]).To(And(BeNumerically(">", ttl/16), BeNumerically("<=", ttl/8)), "of the short one")
				g.Expect(renewed).To(ContainElement(renewed[0] + ttl/8))
				firsts[first] = true
			}, func(c *renewer.Config) { c.Instance = fmt.Sprintf("node-%d", i) })
		}
		Expect(len(firsts)).To(BeNumerically(">", 15))
	})

	It("wait for the heartbeat a quarter of a second at most", func() {
		run(func(g Gomega, b *bench) {
			b.track("s", ttl)
			bubble.Sleep(interval + 250*time.Millisecond)
			g.Expect(b.stub.times("renew")).To(Equal(ms(10250)))
		}, func(c *renewer.Config) {
			c.Beat = func(ctx context.Context) error {
				<-ctx.Done()
				return ctx.Err()
			}
		})
	})

	It("are trusted from when they were sent, not from the reply", func() {
		run(func(g Gomega, b *bench) {
			b.stub.delay = func([]lease.Grant) time.Duration { return 1500 * time.Millisecond }
			began := time.Now()
			c := b.track("s", ttl)
			bubble.Sleep(11500 * time.Millisecond)
			g.Expect(c.TrustedUntil()).To(BeTemporally("==", began.Add(interval+trust)))
		})
	})

	It("wait for no server but their own", func() {
		run(func(g Gomega, b *bench) {
			began := time.Now()
			b.stub.place = func(session string) string { return session[:1] }
			b.stub.delay = func(grants []lease.Grant) time.Duration {
				if slices.ContainsFunc(grants, func(g lease.Grant) bool { return g.Session[0] == 'h' }) {
					return 2 * time.Second // it hangs
				}
				return 10 * time.Millisecond
			}
			b.stub.renew = func(g lease.Grant) error {
				if g.Session[0] == 'h' {
					return errRedis
				}
				return nil
			}
			var fine, hung []*cell.Cell
			for i := range 9 {
				fine = append(fine, b.track(fmt.Sprint("a", i), ttl), b.track(fmt.Sprint("b", i), ttl))
				hung = append(hung, b.track(fmt.Sprint("h", i), ttl))
			}
			bubble.Sleep(interval + 50*time.Millisecond)
			for _, c := range fine {
				g.Expect(c.TrustedUntil()).To(BeTemporally("~", began.Add(interval+trust), 50*time.Millisecond))
			}
			bubble.Sleep(interval)
			for _, c := range fine {
				g.Expect(c.TrustedUntil()).To(BeTemporally("~", began.Add(2*interval+trust), 50*time.Millisecond))
			}
			for _, c := range hung {
				g.Expect(c.TrustedUntil()).To(BeTemporally("==", began.Add(trust)))
				g.Expect(c.Alive()).To(BeTrue())
			}
		}, func(c *renewer.Config) { c.BatchSize, c.Flights = 3, 1 })
	})

	It("tell how long a poll in flight may still last", func() {
		run(func(g Gomega, b *bench) {
			c := b.track("s", ttl)
			b.track("t", ttl)
			c.Work(time.Now().Add(time.Minute))
			bubble.Sleep(interval)
			g.Expect(b.stub.busy).To(Equal(map[string]time.Duration{"s": time.Minute - interval, "t": 0}))
		})
	})

	It("that are staggered ask for each lease's own TTL, and trust none longer", func() {
		run(func(g Gomega, b *bench) {
			cells := map[string]*cell.Cell{}
			for i := range 20 {
				id := fmt.Sprint("s", i)
				cells[id] = b.track(id, ttl)
			}
			began := b.stub.began
			bubble.Sleep(interval)
			g.Expect(b.stub.see("renew")).To(HaveLen(1))
			ends := map[time.Duration]bool{}
			for id, c := range cells {
				own := b.stub.ttls[id]
				g.Expect(own).To(And(BeNumerically("<=", ttl), BeNumerically(">", ttl-ttl/50)), id)
				g.Expect(c.TrustedUntil()).To(BeTemporally("==", began.Add(interval+own-margin)), id)
				ends[own] = true
			}
			g.Expect(len(ends)).To(BeNumerically(">", 10))
		}, func(c *renewer.Config) { c.Stagger = 50 })
	})

	It("go out in batches, and a slow one delays no other", func() {
		run(func(g Gomega, b *bench) {
			b.stub.delay = func(grants []lease.Grant) time.Duration {
				for _, g := range grants {
					if g.Session == "s0" {
						return 5 * time.Second
					}
				}
				return 0
			}
			cells := map[string]*cell.Cell{}
			for i := range 7 {
				id := fmt.Sprint("s", i)
				cells[id] = b.track(id, ttl)
			}
			bubble.Sleep(interval)
			began := b.stub.began
			calls := b.stub.see("renew")
			g.Expect(calls).To(HaveLen(3))
			for _, c := range calls {
				g.Expect(len(c.sessions)).To(BeNumerically("<=", 3))
				g.Expect(c.at).To(Equal(interval))
				for _, id := range c.sessions {
					want := interval + trust
					if slices.Contains(c.sessions, "s0") {
						want = trust
					}
					g.Expect(cells[id].TrustedUntil()).To(BeTemporally("==", began.Add(want)), id)
				}
			}
		}, func(c *renewer.Config) { c.BatchSize = 3 })
	})

	It("that were refused kill the cell at once, with the reason", func() {
		for _, refusal := range []error{lease.ErrLost, lease.ErrForeign} {
			run(func(g Gomega, b *bench) {
				b.stub.renew = func(lease.Grant) error { return refusal }
				c := b.track("s", ttl)
				other := b.track("t", ttl)
				bubble.Sleep(interval)
				g.Expect(cause(c)).To(MatchError(lease.ErrLost))
				g.Expect(cause(other)).To(MatchError(lease.ErrLost))
				bubble.Sleep(time.Minute)
				g.Expect(b.stub.see("renew")).To(HaveLen(1), "a dead cell is not renewed")
				g.Expect(b.holder.Got()).To(BeEmpty(), "its holder hears of it from the cell")
			})
		}
	})

	It("without an answer suspend the cell and are retried at 100, 200, 400 ms … while it is trusted", func() {
		run(func(g Gomega, b *bench) {
			b.stub.renew = func(lease.Grant) error { return errRedis }
			c := b.track("s", ttl)
			bubble.Sleep(interval)
			g.Expect(c.Usable()).To(BeFalse())
			g.Expect(c.Context().Err()).NotTo(HaveOccurred())
			bubble.Sleep(5 * time.Second)
			g.Expect(b.stub.times("renew")).To(Equal(ms(10000, 10100, 10300, 10700, 11500, 12500, 13500, 14500)))
			g.Expect(actortest.Count[*renewer.Suspended](b.holder)).To(Equal(1))
			g.Expect(b.system.Events("lease.renew_failed")).To(HaveLen(1))

			b.stub.plan(func(s *stub) { s.renew = func(lease.Grant) error { return nil } })
			bubble.Sleep(time.Second)
			g.Expect(c.Usable()).To(BeTrue())
			g.Expect(b.holder.Kinds()).To(Equal([]string{"Suspended", "Renewed"}))

			b.stub.plan(func(s *stub) {
				s.renew = func(lease.Grant) error { return errRedis }
				// Else a retry falls on the very instant at which the trust ends.
				s.delay = func([]lease.Grant) time.Duration { return 30 * time.Millisecond }
			})
			bubble.Sleep(time.Hour)
			calls := b.stub.times("renew")
			g.Expect(cause(c)).To(MatchError(cell.ErrExpired))
			g.Expect(calls[len(calls)-1]).To(BeNumerically("<", 15500*time.Millisecond+trust), "no renewal after the end of trust")
		})
	})

	It("of a TTL of few seconds are retried each twelfth of it, so that one comes in time", func() {
		run(func(g Gomega, b *bench) {
			b.stub.renew = func(lease.Grant) error { return errRedis }
			b.track("s", 3*time.Second) // renewed each 750 ms in any case
			bubble.Sleep(2 * time.Second)
			g.Expect(b.stub.times("renew")).To(Equal(ms(750, 850, 1050, 1300, 1500, 1550, 1800)))
		})
	})

	It("of a document's own TTL leave, without an answer, as much time for a second try", func() {
		for _, own := range []time.Duration{time.Second, 2 * time.Second, 6 * time.Second} {
			for _, margin := range []time.Duration{2 * time.Second, 14 * time.Second} {
				run(func(g Gomega, b *bench) {
					var tries int
					b.stub.delay = func([]lease.Grant) time.Duration {
						if tries++; tries == 1 {
							return time.Hour
						}
						return 0
					}
					c := cell.New(context.Background(), lease.NewTerm(grant("s"), time.Now(), own, renewer.Margin(own, ttl, margin)))
					b.retrack(c, own)
					b.track("t", own) // of the same batch, and ends at another moment
					end := c.TrustedUntil()
					bubble.Sleep(time.Until(end) - 1)
					calls := b.stub.times("renew")
					g.Expect(len(calls)).To(BeNumerically(">", 1))
					waited := calls[1] - calls[0] - lease.Retry(own, 0)
					g.Expect(calls[1]+waited).To(BeNumerically("<=", end.Sub(b.stub.began)), "its answer may take as long")
					g.Expect(waited).To(BeNumerically(">", own/20))
					g.Expect(c.Usable()).To(BeTrue())
				}, func(c *renewer.Config) { c.Stagger, c.Margin = 50, margin })
			}
		}
	})

	It("that hang end the trust on time", func() {
		run(func(g Gomega, b *bench) {
			b.stub.delay = func([]lease.Grant) time.Duration { return time.Hour }
			c := b.track("s", ttl)
			bubble.Sleep(trust - 1)
			g.Expect(c.Context().Err()).NotTo(HaveOccurred())
			bubble.Sleep(1)
			g.Expect(cause(c)).To(MatchError(cell.ErrExpired))
			bubble.Sleep(time.Minute)
		})
	})

	It("of another TTL come four times in it, and end with the last lease of it", func() {
		run(func(g Gomega, b *bench) {
			c := b.track("fast", 6*time.Second)
			b.track("slow", ttl)
			bubble.Sleep(10 * time.Second)
			var fast []time.Duration
			for _, call := range b.stub.see("renew") {
				if call.ttl == 6*time.Second {
					g.Expect(call.sessions).To(Equal([]string{"fast"}))
					fast = append(fast, call.at)
				}
			}
			g.Expect(fast).To(Equal(ms(1500, 3000, 4500, 6000, 7500, 9000)))
			g.Expect(c.TrustedUntil()).To(BeTemporally("==", time.Now().Add(4600*time.Millisecond)))
			b.tell(&renewer.Untrack{Grant: grant("fast")})
			bubble.Sleep(time.Minute)
			for _, call := range b.stub.see("renew") {
				if call.at > 10*time.Second {
					g.Expect(call.ttl).To(Equal(ttl))
				}
			}
			c.Kill(context.Canceled)
		})
	})

	It("of another TTL come in proportion where the node's own come more often, and of two minutes every 30 s", func() {
		for own, want := range map[time.Duration]time.Duration{5 * time.Second: 20 * time.Second, interval: 30 * time.Second, 15 * time.Second: 30 * time.Second} {
			run(func(g Gomega, b *bench) {
				c := b.track("task", 2*time.Minute)
				bubble.Sleep(2 * time.Minute)
				var every []time.Duration
				for at := want; at <= 2*time.Minute; at += want {
					every = append(every, at)
				}
				g.Expect(b.stub.times("renew")).To(Equal(every))
				c.Kill(context.Canceled)
			}, func(c *renewer.Config) { c.Interval = own })
		}
	})

	It("all go out at once when Redis may have forgotten, and of those in doubt in one call", func() {
		run(func(g Gomega, b *bench) {
			b.track("s", ttl)
			b.track("t", ttl)
			b.track("u", 6*time.Second)
			b.tell(&renewer.RenewAll{})
			bubble.Sleep(0)
			g.Expect(b.stub.see("renew")).To(HaveLen(2), "one of each TTL")
			b.parent.Do(func(actor.Context) {})
			bubble.Sleep(time.Second)
			b.tell(&renewer.Verify{Grant: grant("s")})
			b.tell(&renewer.Verify{Grant: grant("t")})
			bubble.Sleep(0)
			calls := b.stub.see("renew")
			g.Expect(calls[2:]).To(ConsistOf(
				call{at: time.Second, what: "renew", sessions: []string{"s", "t"}, ttl: ttl},
			))
		})
	})

	It("are never two at a time for one lease", func() {
		run(func(g Gomega, b *bench) {
			b.stub.delay = func([]lease.Grant) time.Duration { return 4 * time.Second }
			b.track("s", ttl)
			bubble.Sleep(interval)
			b.tell(&renewer.RenewAll{})
			b.tell(&renewer.Verify{Grant: grant("s")})
			bubble.Sleep(3 * time.Second)
			g.Expect(b.stub.see("renew")).To(HaveLen(1))
		})
	})
})

var _ = Describe("a lease whose TTL changes", func() {
	It("is renewed at once with a longer one, whose cycle could come too late", func() {
		run(func(g Gomega, b *bench) {
			c := b.track("s", 6*time.Second)
			bubble.Sleep(5 * time.Second)
			b.retrack(c, ttl)
			bubble.Sleep(0)
			calls := b.stub.see("renew")
			g.Expect(calls[len(calls)-1]).To(Equal(call{at: 5 * time.Second, what: "renew", sessions: []string{"s"}, ttl: ttl}))
			g.Expect(c.TrustedUntil()).To(BeTemporally("==", time.Now().Add(trust)))
			bubble.Sleep(time.Minute)
			g.Expect(c.Usable()).To(BeTrue())
		})
	})

	It("is trusted no longer than a shorter one from the moment the renewal is sent, answered or not", func() {
		run(func(g Gomega, b *bench) {
			c := b.track("s", ttl)
			b.stub.delay = func([]lease.Grant) time.Duration { return time.Hour }
			b.retrack(c, 6*time.Second)
			bubble.Sleep(5600*time.Millisecond - 1)
			g.Expect(c.Context().Err()).NotTo(HaveOccurred())
			bubble.Sleep(1)
			g.Expect(cause(c)).To(MatchError(cell.ErrExpired))
		})
	})

	It("is renewed with the new one only after the old renewal was answered", func() {
		run(func(g Gomega, b *bench) {
			b.stub.delay = func([]lease.Grant) time.Duration { return time.Second }
			c := b.track("s", ttl)
			bubble.Sleep(interval)
			b.retrack(c, 6*time.Second)
			bubble.Sleep(time.Second)
			g.Expect(b.stub.see("renew")).To(Equal([]call{
				{at: interval, what: "renew", sessions: []string{"s"}, ttl: ttl},
				{at: interval + time.Second, what: "renew", sessions: []string{"s"}, ttl: 6 * time.Second},
			}))
			bubble.Sleep(time.Minute)
			g.Expect(c.Usable()).To(BeTrue())
		})
	})

	It("goes on where the document changed back and forth", func() {
		run(func(g Gomega, b *bench) {
			c := b.track("s", ttl)
			b.retrack(c, 6*time.Second)
			b.retrack(c, ttl)
			b.retrack(c, ttl)
			bubble.Sleep(time.Minute)
			g.Expect(c.Usable()).To(BeTrue())
		})
	})
})

var _ = Describe("a doubt while a renewal is on its way", func() {
	for what, doubt := range map[string]any{"Verify": &renewer.Verify{Grant: grant("s")}, "RenewAll": &renewer.RenewAll{}} {
		It("is looked into once that is answered: "+what, func() {
			run(func(g Gomega, b *bench) {
				b.stub.delay = func([]lease.Grant) time.Duration { return 20 * time.Millisecond }
				c := b.track("s", ttl)
				bubble.Sleep(interval + 10*time.Millisecond) // the renewal was carried out, its answer is on the way
				b.stub.plan(func(s *stub) { s.renew = func(lease.Grant) error { return lease.ErrLost } })
				b.tell(doubt) // the key went behind it
				bubble.Sleep(time.Second)
				g.Expect(c.Alive()).To(BeFalse(), "renewals at %v", b.stub.times("renew"))
			})
		})
	}
})
