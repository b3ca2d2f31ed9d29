package renewer_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
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

const (
	ttl      = 30 * time.Second
	interval = 10 * time.Second
	margin   = 2 * time.Second
	trust    = ttl - margin
)

var errRedis = errors.New("no answer from Redis")

// call is one call that the store got.
type call struct {
	at       time.Duration // since the spec began
	what     string
	sessions []string
	ttl      time.Duration
}

// stub is a store whose answers a spec plans.
type stub struct {
	lease.Store

	began time.Time
	mu    sync.Mutex
	calls []call
	// renew answers one grant, after the call took so long.
	renew   func(g lease.Grant) error
	delay   func(grants []lease.Grant) time.Duration
	release func(r lease.Release) error
}

func (s *stub) plan(change func(s *stub)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(s)
}

func (s *stub) note(what string, sessions []string, ttl time.Duration) {
	slices.Sort(sessions)
	s.calls = append(s.calls, call{at: time.Since(s.began), what: what, sessions: sessions, ttl: ttl})
}

func (s *stub) Renew(ctx context.Context, grants []lease.Grant, ttl time.Duration) []lease.Verdict {
	s.mu.Lock()
	var sessions []string
	for _, g := range grants {
		sessions = append(sessions, g.Session)
	}
	s.note("renew", sessions, ttl)
	renew, delay := s.renew, s.delay
	s.mu.Unlock()

	verdicts := make([]lease.Verdict, len(grants))
	select {
	case <-time.After(delay(grants)):
	case <-ctx.Done():
		for i := range verdicts {
			verdicts[i].Err = ctx.Err()
		}
		return verdicts
	}
	for i, g := range grants {
		verdicts[i].Err = renew(g)
	}
	return verdicts
}

func (s *stub) Release(_ context.Context, releases []lease.Release) []error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var sessions []string
	errs := make([]error, len(releases))
	for i, r := range releases {
		sessions = append(sessions, r.Session)
		errs[i] = s.release(r)
	}
	s.note("release", sessions, 0)
	return errs
}

func (s *stub) Beat(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.note("beat", nil, 0)
	return nil
}

// see returns the calls of one kind so far.
func (s *stub) see(what string) []call {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []call
	for _, c := range s.calls {
		if c.what == what {
			found = append(found, c)
		}
	}
	return found
}

func (s *stub) times(what string) []time.Duration {
	var at []time.Duration
	for _, c := range s.see(what) {
		at = append(at, c.at)
	}
	return at
}

// bench is a renewer under a spec.
type bench struct {
	system         *actortest.System
	parent, holder *actortest.Probe
	stub           *stub
	cfg            renewer.Config
	pid            *actor.PID
}

func run(f func(g Gomega, b *bench), change ...func(*renewer.Config)) {
	GinkgoHelper()
	bubble.Run(func(g Gomega) {
		b := &bench{system: actortest.NewSystem(), stub: &stub{
			began:   time.Now(),
			renew:   func(lease.Grant) error { return nil },
			delay:   func([]lease.Grant) time.Duration { return 0 },
			release: func(lease.Release) error { return nil },
		}}
		ctx, cancel := context.WithCancel(context.Background())
		b.parent, b.holder = b.system.NewProbe(nil), b.system.NewProbe(nil)
		b.cfg = renewer.Config{
			Context: ctx, Store: b.stub, Beat: b.stub.Beat, TTL: ttl, Interval: interval, Margin: margin,
			Log: b.system.Log, Report: b.system.Report,
		}
		for _, c := range change {
			c(&b.cfg)
		}
		b.pid = b.parent.Spawn(renewer.Props(b.cfg), "renewer")
		defer func() {
			b.parent.Stop()
			cancel()
			b.system.Close()
		}()
		f(g, b)
	})
}

func (b *bench) tell(m any) { b.system.Root.Send(b.pid, m) }

func grant(id string) lease.Grant { return lease.Grant{Session: id, Holder: "n1", Token: 7} }

// track has a lease renewed that was acquired now with the TTL.
func (b *bench) track(id string, ttl time.Duration) *cell.Cell {
	c := cell.New(context.Background(), lease.NewTerm(grant(id), time.Now(), ttl, renewer.Margin(ttl, b.cfg.TTL, margin)))
	b.retrack(c, ttl)
	return c
}

func (b *bench) retrack(c *cell.Cell, ttl time.Duration) {
	b.tell(&renewer.Track{Cell: c, TTL: ttl, Holder: b.holder.Mailbox()})
}

func (b *bench) releaseOne(id string, giveUp time.Time) {
	b.tell(&renewer.Release{Release: lease.Release{Grant: grant(id)}, ReplyTo: b.holder.Mailbox(), GiveUp: giveUp})
}

func ms(n ...int) []time.Duration {
	var d []time.Duration
	for _, v := range n {
		d = append(d, time.Duration(v)*time.Millisecond)
	}
	return d
}

func cause(c *cell.Cell) error { return context.Cause(c.Context()) }

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
