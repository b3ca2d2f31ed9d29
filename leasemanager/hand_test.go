package leasemanager_test

import (
	"context"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"leasehold/internal/bubble"
	"leasehold/leasemanager"
	"leasehold/rediskey"
)

var _ = Describe("a lease by hand", func() {
	ctx := context.Background()

	It("is ours alone, renewed by itself, with a token that stays", func() {
		run(func(g Gomega, f *fleet) {
			a, b := f.start(), f.start()
			acquired := time.Now()
			a.take("s")
			b.refused("s")
			g.Expect(f.Owners()).To(Equal(map[string]string{"s": a.InstanceID()}))
			token, ok := a.Token("s")
			g.Expect(ok).To(BeTrue())
			bubble.Sleep(10 * ttl)
			a.take("s")
			b.refused("s")
			g.Expect(b.IsOwned("s")).To(BeFalse())
			same, _ := a.Token("s")
			g.Expect(same).To(Equal(token))
			g.Expect(a.OwnedSessions()).To(Equal([]string{"s"}))
			info, err := a.Lease(ctx, "s")
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(info.AcquiredAt).To(BeTemporally("~", acquired, 10*time.Millisecond))
			g.Expect(info.RenewedAt).To(BeTemporally("~", time.Now(), ttl/3))
			g.Expect(info.State).To(Equal(leasemanager.Owned))
			g.Expect(info.Owner).To(Equal(a.InstanceID()))
			g.Expect(a.told()).To(Equal([]string{"acquired s"}))

			other, err := b.Lease(ctx, "s")
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(other).To(Equal(leasemanager.LeaseInfo{
				SessionID: "s", Owner: a.InstanceID(), State: leasemanager.Other, Token: token,
			}))
			g.Expect(b.told()).To(BeEmpty())
		})
	})

	It("is given back after its context has ended and the callback has returned", func() {
		run(func(g Gomega, f *fleet) {
			a, b := f.start(), f.start()
			a.take("s")
			first, _ := a.Token("s")
			lease := a.Context("s")
			var cause error
			a.atEnd(func(string) {
				cause = context.Cause(lease)
				time.Sleep(5 * time.Second) // the work ends
			})
			began := time.Now()
			released := after(func() error { return a.Release(ctx, "s") })
			bubble.Sleep(5*time.Second - time.Millisecond)
			g.Expect(a.IsOwned("s")).To(BeFalse())
			g.Expect(a.OwnedSessions()).To(BeEmpty())
			g.Expect(f.Owners()).To(HaveKey("s"), "the work has not ended")
			ending, err := a.Lease(ctx, "s")
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(ending).To(Equal(leasemanager.LeaseInfo{SessionID: "s", Token: first}), "it is neither owned nor another's")
			b.refused("s")
			a.refused("s")
			g.Expect(<-released).To(Succeed())
			g.Expect(cause).To(MatchError(leasemanager.ErrReleased), "when the callback began")
			g.Expect(time.Since(began)).To(BeNumerically("<=", 5*time.Second+50*time.Millisecond))
			g.Expect(f.Owners()).To(BeEmpty())
			g.Expect(a.told()).To(Equal([]string{"acquired s", "lost s"}))
			g.Expect(a.why()).To(HaveExactElements(MatchError(leasemanager.ErrReleased)))
			b.take("s")
			second, _ := b.Token("s")
			g.Expect(second).To(Equal(first + 1))
			g.Expect(a.Release(ctx, "s")).To(Succeed(), "which is not ours, and stays")
			g.Expect(f.Owners()).To(Equal(map[string]string{"s": b.InstanceID()}))
		})
	})

	It("can be had for any ID, with a document or without, and for no other", func() {
		run(func(g Gomega, f *fleet) {
			a := f.start()
			f.Put("doc", `{"url":"http://192.0.2.1/","paused":true}`)
			ids := []string{"doc", "a/b:{c}", "\n", "ü", strings.Repeat("x", 512)}
			for _, id := range ids {
				a.take(id)
			}
			g.Expect(a.OwnedSessions()).To(ConsistOf(ids))
			for _, id := range []string{"", "\x00", "\xff", strings.Repeat("x", 513)} {
				_, err := a.TryAcquire(ctx, id)
				g.Expect(err).To(HaveOccurred())
				g.Expect(a.Release(ctx, id)).NotTo(Succeed())
				_, err = a.PreferredOwner(ctx, id)
				g.Expect(err).To(HaveOccurred())
				_, err = a.Lease(ctx, id)
				g.Expect(err).To(HaveOccurred())
			}
		})
	})

	It("that never was has a context that has ended, and no token", func() {
		run(func(g Gomega, f *fleet) {
			a := f.start()
			g.Expect(context.Cause(a.Context("s"))).To(MatchError(leasemanager.ErrNotOwned))
			_, ok := a.Token("s")
			g.Expect(ok).To(BeFalse())
			info, err := a.Lease(ctx, "s")
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(info).To(Equal(leasemanager.LeaseInfo{SessionID: "s"}))
			g.Expect(info.State.String()).To(Equal("unknown"))
		})
	})

	It("whose asker has gone is not kept", func() {
		run(func(g Gomega, f *fleet) {
			a := f.start()
			a.link.Freeze()
			short, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			_, err := a.TryAcquire(short, "s")
			g.Expect(err).To(MatchError(context.DeadlineExceeded))
			a.link.Heal()
			bubble.Sleep(time.Second)
			g.Expect(a.IsOwned("s")).To(BeFalse())
			g.Expect(a.OwnedSessions()).To(BeEmpty())
			g.Expect(f.Owners()).To(BeEmpty())
		})
	})
})

var _ = Describe("the loss of a lease by hand", func() {
	ctx := context.Background()

	It("to somebody who writes its key is noticed at once, by the event", func() {
		run(func(g Gomega, f *fleet) {
			a := f.start()
			a.take("s")
			g.Expect(f.Client.Del(ctx, "poll:lease:s").Err()).To(Succeed())
			g.Expect(f.Client.Set(ctx, "poll:lease:s", "thief", ttl).Err()).To(Succeed())
			bubble.Sleep(100 * time.Millisecond)
			g.Expect(a.IsOwned("s")).To(BeFalse())
			g.Expect(context.Cause(a.Context("s"))).To(MatchError(leasemanager.ErrNotOwned), "it is over")
			g.Expect(a.told()).To(Equal([]string{"acquired s", "lost s"}))
			g.Expect(a.why()).To(HaveExactElements(MatchError(leasemanager.ErrLost)))
			g.Expect(a.infos[1].State).To(Equal(leasemanager.Other))
			g.Expect(a.infos[1].Owner).To(Equal("thief"))
			a.refused("s")
			g.Expect(f.Owners()).To(Equal(map[string]string{"s": "thief"}))
		})
	})

	It("to a newer token under its own name is not another's", func() {
		run(func(g Gomega, f *fleet) {
			a := f.start()
			a.take("s")
			g.Expect(f.Client.HIncrBy(ctx, rediskey.Default().State("s"), "version", 1).Err()).To(Succeed())
			bubble.Sleep(ttl)
			g.Expect(a.told()).To(Equal([]string{"acquired s", "lost s"}))
			g.Expect(a.why()).To(HaveExactElements(MatchError(leasemanager.ErrLost)))
			g.Expect(a.infos[1].State).To(Equal(leasemanager.Unknown))
			g.Expect(a.infos[1].Owner).To(BeEmpty())
		})
	})

	It("when Redis hangs: uncertain at the first failed renewal, over at the deadline, before another can have it", func() {
		run(func(g Gomega, f *fleet) {
			a, b := f.start(), f.start()
			a.take("s")
			bubble.Sleep(10*time.Second + 100*time.Millisecond) // one renewal
			renewed := f.Client.PTTL(ctx, "poll:lease:s").Val()
			g.Expect(renewed).To(BeNumerically(">", 24*time.Second), "renewed 5 to 10 s after the start")
			a.link.Freeze()
			frozen := time.Now()
			trust := renewed - margin      // of what Redis has
			bubble.Sleep(13 * time.Second) // a renewal without an answer
			g.Expect(a.told()).To(Equal([]string{"acquired s", "uncertain s"}))
			g.Expect(a.IsOwned("s")).To(BeFalse(), "nothing new may start")
			g.Expect(a.OwnedSessions()).To(Equal([]string{"s"}))
			_, held := a.Token("s")
			g.Expect(held).To(BeTrue())
			info, err := a.Lease(ctx, "s")
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(info.State).To(Equal(leasemanager.Uncertain))
			_, err = a.TryAcquire(ctx, "s")
			g.Expect(err).To(MatchError(leasemanager.ErrUncertain))

			lease := a.Context("s")
			bubble.Sleep(time.Until(frozen.Add(trust - 100*time.Millisecond)))
			g.Expect(lease.Err()).NotTo(HaveOccurred())
			b.refused("s")
			bubble.Sleep(100 * time.Millisecond)
			g.Expect(context.Cause(lease)).To(MatchError(leasemanager.ErrExpired))
			b.refused("s")
			g.Expect(a.told()).To(Equal([]string{"acquired s", "uncertain s", "lost s"}))
			g.Expect(a.why()).To(HaveExactElements(MatchError(leasemanager.ErrExpired)))
			bubble.Sleep(margin)
			b.take("s")
		})
	})

	It("does not happen when a renewal succeeds again in time", func() {
		run(func(g Gomega, f *fleet) {
			a := f.start()
			a.take("s")
			a.link.Freeze()
			bubble.Sleep(20 * time.Second)
			g.Expect(a.IsOwned("s")).To(BeFalse())
			a.link.Heal()
			bubble.Sleep(3 * time.Second)
			g.Expect(a.IsOwned("s")).To(BeTrue())
			bubble.Sleep(ttl)
			g.Expect(a.told()).To(Equal([]string{"acquired s", "uncertain s", "certain s"}))
		})
	})

	It("by the wall clock of a machine that slept", func() {
		run(func(g Gomega, f *fleet) {
			a := f.start()
			a.take("s")
			a.ahead.Add(int64(time.Hour))
			g.Expect(a.IsOwned("s")).To(BeFalse(), "at once")
			bubble.Sleep(2 * time.Second)
			g.Expect(a.told()).To(Equal([]string{"acquired s", "lost s"}))
			g.Expect(a.why()).To(HaveExactElements(MatchError(leasemanager.ErrExpired)))
		})
	})

	It("with all of Redis is noticed at once, and nobody takes it for a TTL but who lost it", func() {
		run(func(g Gomega, f *fleet) {
			a, b := f.start(), f.start()
			a.take("s")
			b.refused("s")
			f.RestartRedis(false)
			lost := time.Now()
			var second time.Time
			for time.Since(lost) < 2*ttl && second.IsZero() {
				if ours, _ := b.TryAcquire(ctx, "s"); ours {
					second = time.Now()
					g.Expect(a.IsOwned("s")).To(BeFalse())
				}
				bubble.Sleep(50 * time.Millisecond)
			}
			g.Expect(second).To(BeTemporally("~", lost.Add(ttl+time.Second), 2*time.Second))
			told := a.told() // uncertain only where a renewal met a connection that broke
			g.Expect(slices.DeleteFunc(told, func(what string) bool { return what == "uncertain s" })).To(Equal([]string{"acquired s", "lost s"}))

			b.take("t")
			f.RestartRedis(false)
			bubble.Sleep(0)
			for range 40 {
				if ours, _ := b.TryAcquire(ctx, "t"); ours && len(b.why()) > 0 {
					break
				}
				bubble.Sleep(50 * time.Millisecond)
			}
			g.Expect(b.IsOwned("t")).To(BeTrue(), "it has just lost it, so nobody had it since")
		})
	})

	It("with all of Redis leaves it to nobody for a TTL where the work ends late: another may have had it since", func() {
		run(func(g Gomega, f *fleet) {
			a := f.start()
			a.take("s")
			a.atEnd(func(string) { time.Sleep(margin + time.Second) }) // the work ends
			bubble.Sleep(time.Second)
			f.RestartRedis(false)
			lost := time.Now()
			for !slices.Contains(a.told(), "lost s") {
				bubble.Sleep(50 * time.Millisecond)
			}
			g.Expect(time.Since(lost)).To(BeNumerically("<", ttl/2), "its trust would have lasted")
			_, err := a.TryAcquire(ctx, "s")
			g.Expect(err).To(MatchError(leasemanager.ErrHeldOff))
			bubble.Sleep(ttl)
			a.take("s")
		})
	})

	// Whose holder is cut off, it is nobody's until he has noticed by his own clock.
	It("that a fail-over forgot does not make it another's, however quick that one is", func() {
		run(func(g Gomega, f *fleet) {
			a, b := f.start(), f.start()
			a.take("s")
			g.Expect(a.Release(ctx, "s")).To(Succeed()) // so that it has a counter
			b.take("t")
			replica := f.Mini.Snapshot()
			a.take("s")
			a.link.Freeze()
			f.FailOver(replica)
			lost := time.Now()
			for !b.IsOwned("s") && time.Since(lost) < 2*ttl {
				_, _ = b.TryAcquire(ctx, "s") // its connection is closed at first
				g.Expect(b.IsOwned("s") && a.IsOwned("s")).To(BeFalse())
				bubble.Sleep(10 * time.Millisecond)
			}
			g.Expect(b.IsOwned("s")).To(BeTrue())
			g.Expect(time.Since(lost)).To(BeNumerically("<", ttl+4*time.Second))
		})
	})
})
