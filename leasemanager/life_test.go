package leasemanager_test

import (
	"context"
	"fmt"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"leasehold/internal/bubble"
	"leasehold/leasemanager"
	"leasehold/redisevents"
)

var _ = Describe("a member", func() {
	ctx := context.Background()

	It("answers nothing before its start and after its end, and starts once", func() {
		run(func(g Gomega, f *fleet) {
			a := f.add()
			fails := func(why error) {
				GinkgoHelper()
				_, err := a.TryAcquire(ctx, "s")
				g.Expect(err).To(MatchError(why))
				_, err = a.GetLiveNodes(ctx)
				g.Expect(err).To(MatchError(why))
				_, err = a.PreferredOwner(ctx, "s")
				g.Expect(err).To(MatchError(why))
				_, err = a.Lease(ctx, "s")
				g.Expect(err).To(MatchError(why))
				g.Expect(a.Release(ctx, "s")).To(MatchError(why))
				g.Expect(a.IsOwned("s")).To(BeFalse())
				g.Expect(a.OwnedSessions()).To(BeEmpty())
			}
			fails(leasemanager.ErrNotStarted)
			g.Expect(a.Start(ctx)).To(Succeed())
			g.Expect(a.Start(ctx)).To(MatchError(leasemanager.ErrStarted))
			a.take("s")
			g.Expect(a.Done()).NotTo(BeClosed())
			g.Expect(a.Stop()).To(Succeed())
			g.Expect(a.Done()).To(BeClosed())
			fails(leasemanager.ErrStopped)
			g.Expect(a.Start(ctx)).To(MatchError(leasemanager.ErrStopped))
			g.Expect(a.Stop()).To(Succeed())
			g.Expect(f.Client.Keys(ctx, "poll:lease:*").Val()).To(BeEmpty())
			g.Expect(f.Client.Keys(ctx, "poll:node:*").Val()).To(BeEmpty())
		})
	})

	It("can be stopped before its start, and is not started then", func() {
		run(func(g Gomega, f *fleet) {
			a := f.add()
			g.Expect(a.Stop()).To(Succeed())
			g.Expect(a.Start(ctx)).To(MatchError(leasemanager.ErrStopped))
		})
	})

	It("does not start without an answer of Redis, and may try again", func() {
		run(func(g Gomega, f *fleet) {
			a := f.add()
			a.link.Freeze()
			began := time.Now()
			g.Expect(a.Start(ctx)).NotTo(Succeed())
			g.Expect(time.Since(began)).To(BeNumerically("<=", 2*time.Second+10*time.Millisecond))
			a.link.Heal()
			bubble.Sleep(time.Second)
			g.Expect(a.Start(ctx)).To(Succeed())
			a.take("s")
		})
	})

	It("stops when the context ends that it was started with, and gives everything back", func() {
		run(func(g Gomega, f *fleet) {
			a := f.add()
			life, end := context.WithCancel(ctx)
			g.Expect(a.Start(life)).To(Succeed())
			a.take("s")
			lease := a.Context("s")
			end()
			<-a.Done()
			g.Expect(context.Cause(lease)).To(MatchError(leasemanager.ErrReleased))
			g.Expect(f.Owners()).To(BeEmpty())
			g.Expect(a.Stop()).To(Succeed())
		})
	})

	It("gives each lease back once its callback has returned, and calls none after Stop", func() {
		run(func(g Gomega, f *fleet) {
			a, b := f.start(), f.start()
			for i := range 50 {
				a.take(fmt.Sprintf("s%d", i))
			}
			var early sync.Map
			a.atEnd(func(id string) {
				time.Sleep(3 * time.Second)
				if f.Client.Get(ctx, "poll:lease:"+id).Val() != a.InstanceID() || a.IsOwned(id) {
					early.Store(id, true)
				}
			})
			stops := []<-chan error{after(a.Stop), after(a.Stop)}
			bubble.Sleep(time.Second)
			_, err := a.TryAcquire(ctx, "late")
			g.Expect(err).To(MatchError(leasemanager.ErrStopped))
			b.refused("s7")
			for _, stopped := range stops {
				g.Expect(<-stopped).To(Succeed())
			}
			told := a.told()
			g.Expect(told).To(HaveLen(100))
			early.Range(func(id, _ any) bool {
				g.Expect(id).To(BeEmpty(), "it was given back before its work had ended")
				return true
			})
			g.Expect(f.Owners()).To(BeEmpty())
			b.take("s7")
			bubble.Sleep(time.Minute)
			g.Expect(a.told()).To(Equal(told))
		})
	})

	It("does not wait longer than the drain timeout for a callback, and then releases nothing of it", func() {
		run(func(g Gomega, f *fleet) {
			a := f.start()
			a.take("s")
			a.take("t")
			lease := a.Context("s")
			began := time.Now()
			a.atEnd(func(string) { time.Sleep(time.Minute) })
			bubble.Sleep(time.Second)
			g.Expect(a.Stop()).To(MatchError(leasemanager.ErrNotDrained))
			g.Expect(time.Since(began)).To(BeNumerically("~", 26*time.Second, 100*time.Millisecond))
			g.Expect(lease.Err()).To(HaveOccurred())
			g.Expect(f.Owners()).To(HaveLen(2), "they run out")
			g.Expect(a.Stop()).To(MatchError(leasemanager.ErrNotDrained))
			bubble.Sleep(ttl)
			g.Expect(f.Owners()).To(BeEmpty())
			bubble.Sleep(time.Minute)
		})
	})

	It("calls nobody after a Stop that ran out of time", func() {
		run(func(g Gomega, f *fleet) {
			var mu sync.Mutex
			var begun []string
			begin := func(what string) {
				mu.Lock()
				defer mu.Unlock()
				begun = append(begun, what)
			}
			a := f.start(leasemanager.WithCallbacks(leasemanager.Callbacks{
				Acquired: func(leasemanager.LeaseInfo) {
					begin("acquired")
					time.Sleep(time.Minute)
				},
				Lost: func(leasemanager.LeaseInfo, error) { begin("lost") },
			}))
			a.take("s")
			g.Expect(a.Stop()).To(MatchError(leasemanager.ErrNotDrained))
			bubble.Sleep(2 * time.Minute)
			g.Expect(begun).To(Equal([]string{"acquired"}))
		})
	})

	It("that stops while Redis hangs ends all contexts, and says that leases run out", func() {
		run(func(g Gomega, f *fleet) {
			a := f.start()
			a.take("s")
			lease := a.Context("s")
			a.link.Freeze()
			g.Expect(a.Stop()).To(MatchError(leasemanager.ErrNotDrained))
			g.Expect(lease.Err()).To(HaveOccurred())
			g.Expect(a.told()).To(Equal([]string{"acquired s", "lost s"}))
		})
	})

	It("stops by itself when it can not go on, and says why", func() {
		run(func(g Gomega, f *fleet) {
			a := f.add() // its link, for a member with other settings
			a.link.Fail("ERR unknown command", "CONFIG")
			m, err := leasemanager.New(leasemanager.Config{Client: a.client, Events: redisevents.Require})
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(m.Start(ctx)).To(Succeed())
			bubble.Sleep(time.Minute)
			g.Expect(m.Done()).To(BeClosed())
			g.Expect(m.Stop()).To(MatchError(ContainSubstring("the member failed")))
			_, err = m.TryAcquire(ctx, "s")
			g.Expect(err).To(MatchError(leasemanager.ErrStopped))
		})
	})

	It("may be used by many at once", func() {
		run(func(g Gomega, f *fleet) {
			members := []*member{f.start(), f.start()}
			var all sync.WaitGroup
			for n := range 16 {
				m := members[n%2]
				all.Go(func() {
					for i := range 30 {
						id := fmt.Sprintf("s%d", (i*7+n)%5)
						if ours, err := m.TryAcquire(ctx, id); err == nil && ours {
							time.Sleep(time.Duration(n) * time.Millisecond)
							_ = m.Context(id).Err()
						}
						m.Token(id)
						m.OwnedSessions()
						_, _ = m.Lease(ctx, id)
						_, _ = m.PreferredOwner(ctx, id)
						_ = m.Release(ctx, id)
					}
				})
			}
			all.Go(func() {
				time.Sleep(200 * time.Millisecond)
				_ = members[0].Stop()
			})
			all.Wait()
			bubble.Sleep(time.Second)
			g.Expect(f.Owners()).To(BeEmpty())
			for _, m := range members {
				open := map[string]bool{}
				for _, e := range m.told() {
					var what, id string
					_, err := fmt.Sscan(e, &what, &id)
					g.Expect(err).NotTo(HaveOccurred())
					g.Expect(open[id]).To(Equal(what == "lost"), "%s: %v", e, m.told())
					open[id] = what == "acquired"
				}
			}
		})
	})
})

var _ = Describe("the settings of a member", func() {
	It("are refused by the program's rules, all at once", func() {
		_, err := leasemanager.New(leasemanager.Config{
			LeaseTTL: 10 * time.Second, RenewInterval: 6 * time.Second, HeartbeatTTL: time.Second, HeartbeatInterval: time.Minute,
			RedisURL: "http://127.0.0.1", Name: "a b", MaxSessions: -1,
		})
		Expect(err).To(MatchError(And(
			ContainSubstring("LEASEHOLD_LEASE_RENEW_INTERVAL"), ContainSubstring("LEASEHOLD_HEARTBEAT_INTERVAL"),
			ContainSubstring("LEASEHOLD_REDIS_URL"), ContainSubstring("LEASEHOLD_INSTANCE_NAME"),
			ContainSubstring("LEASEHOLD_MAX_SESSIONS"),
		)))
	})

	It("follow one another where they are left out", func() {
		_, err := leasemanager.New(leasemanager.Config{LeaseTTL: 2 * time.Second})
		Expect(err).NotTo(HaveOccurred())
	})
})

var _ = Describe("the members of a fleet", func() {
	ctx := context.Background()

	It("are those whose heartbeats live, and agree on who should have a session", func() {
		run(func(g Gomega, f *fleet) {
			a, b, c := f.start(), f.start(), f.add(leasemanager.WithoutHeartbeat())
			g.Expect(c.Start(ctx)).To(Succeed())
			for _, m := range []*member{a, b, c} {
				g.Expect(m.GetLiveNodes(ctx)).To(HaveExactElements(a.InstanceID(), b.InstanceID()))
			}
			shares := map[string]int{}
			for i := range 100 {
				id := fmt.Sprintf("s%d", i)
				owner, err := a.PreferredOwner(ctx, id)
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(b.PreferredOwner(ctx, id)).To(Equal(owner))
				g.Expect(c.PreferredOwner(ctx, id)).To(Equal(owner))
				shares[owner]++
			}
			g.Expect(shares).To(HaveLen(2))
			g.Expect(shares[a.InstanceID()]).To(BeNumerically("~", 50, 25))
			c.take("s0") // it may, all the same

			g.Expect(a.Stop()).To(Succeed())
			g.Expect(b.GetLiveNodes(ctx)).To(Equal([]string{b.InstanceID()}))
			g.Expect(b.PreferredOwner(ctx, "s0")).To(Equal(b.InstanceID()))
			g.Expect(b.Stop()).To(Succeed())
			g.Expect(c.GetLiveNodes(ctx)).To(BeEmpty())
			g.Expect(c.PreferredOwner(ctx, "s0")).To(BeEmpty())
		})
	})

	It("are not known while Redis does not answer", func() {
		run(func(g Gomega, f *fleet) {
			a := f.start()
			a.link.Freeze()
			_, err := a.GetLiveNodes(ctx)
			g.Expect(err).To(HaveOccurred())
			_, err = a.PreferredOwner(ctx, "s")
			g.Expect(err).To(HaveOccurred())
			_, err = a.TryAcquire(ctx, "s")
			g.Expect(err).To(HaveOccurred())
			_, err = a.Lease(ctx, "s")
			g.Expect(err).To(HaveOccurred())
		})
	})
})
