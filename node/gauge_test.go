package node_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"leasehold/actors/poller"
	"leasehold/internal/bubble"
	"leasehold/internal/nodetest"
	"leasehold/node"
)

func gauged(c *node.Config) { c.Gauge = &node.Gauge{} }

var _ = Describe("what a node tells of itself", func() {
	It("is its leases and its share, the fleet, and the documents by their state", func() {
		bubble.Run(func(g Gomega) {
			f := nodetest.New(g)
			defer f.Stop()
			f.PutMany(9, 10*time.Second)
			f.Put("rests", `{"url":"http://x/","paused":true}`)
			f.Put("out", `{"kind":"external"}`)
			f.Put("bad", `{"url":7}`)
			a, b := f.Start(gauged), f.Start(gauged)
			bubble.Sleep(35 * time.Second)
			owned := 0
			for _, m := range []*nodetest.Member{a, b} {
				s := m.Stats()
				owned += s.Leases
				g.Expect(s.Members).To(Equal(2))
				g.Expect(s.Ideal).To(Equal(s.Leases), "a settled fleet has what it should")
				g.Expect(s.Known.Owned).To(Equal(s.Leases))
				g.Expect(s.Known.Elsewhere).To(Equal(9 - s.Leases))
				g.Expect([]int{s.Known.Unleased, s.Known.Paused, s.Known.External, s.Known.Invalid}).To(Equal([]int{0, 1, 1, 1}))
				g.Expect(s.Validity).To(And(BeNumerically(">", 17*time.Second), BeNumerically("<=", 28*time.Second)))
				g.Expect(s.Events.Healthy && s.Fresh).To(BeTrue())
				g.Expect(s.Restarts).To(BeZero())
				g.Expect(s.Actors).To(BeNumerically(">=", 3+2*s.Leases), "root, renewer, membership, and two for each lease")
			}
			g.Expect(owned).To(Equal(9))
		})
	})

	It("is how many of its sessions failed when it polled them last", func() {
		bubble.Run(func(g Gomega) {
			f := nodetest.New(g)
			defer f.Stop()
			f.PutMany(8, 10*time.Second) // s0 to s7: four each
			bad := []string{"s0", "s1", "s2", "s3", "s4"}
			var mended atomic.Bool
			failing := func(c *node.Config) {
				c.Poll = func(_ context.Context, j poller.Job) poller.Outcome {
					if slices.Contains(bad, j.Session.ID) && !mended.Load() {
						return poller.Outcome{Class: "timeout", Err: errors.New("no answer")}
					}
					return poller.Outcome{OK: true, Class: poller.Success}
				}
			}
			a, b := f.Start(gauged, failing), f.Start(gauged, failing)
			bubble.Sleep(35 * time.Second)
			of := func(m *nodetest.Member) int {
				s := m.Stats()
				g.Expect(s.Failing).To(BeNumerically("<=", s.Leases))
				return s.Failing
			}
			g.Expect(of(a) + of(b)).To(Equal(5))
			g.Expect(of(b)).To(BeNumerically(">", 0))
			f.Put(bad[0], `{"url":"http://x/","interval":"10s","paused":true}`)
			bubble.Sleep(2 * time.Second)
			g.Expect(of(a)+of(b)).To(Equal(4), "what is paused fails no more")
			g.Expect(b.Drain()).To(Succeed())
			bubble.Sleep(35 * time.Second)
			g.Expect(of(b)).To(BeZero(), "it has none any more")
			g.Expect(of(a)).To(Equal(4), "they fail at their next owner")
			mended.Store(true)
			bubble.Sleep(35 * time.Second)
			g.Expect(of(a)).To(BeZero())
		})
	})

	It("is how many polls are in flight, and what it takes to renew", func() {
		bubble.Run(func(g Gomega) {
			f := nodetest.New(g)
			defer f.Stop()
			f.PutMany(3, time.Minute)
			var mu sync.Mutex
			batches, lags := map[int]int{}, 0
			m := f.Start(func(c *node.Config) {
				c.Gauge = &node.Gauge{
					Lag: func(d time.Duration) {
						mu.Lock()
						defer mu.Unlock()
						lags++
						g.Expect(d).To(BeNumerically("<", time.Second))
					},
					Batch: func(leases int, _ time.Duration) {
						mu.Lock()
						defer mu.Unlock()
						batches[leases]++
					},
				}
				c.Poll = func(ctx context.Context, _ poller.Job) poller.Outcome {
					select {
					case <-time.After(4 * time.Second):
					case <-ctx.Done():
					}
					return poller.Outcome{OK: true, Class: poller.Success}
				}
			})
			most := 0
			for range 40 {
				bubble.Sleep(time.Second)
				most = max(most, m.Stats().InFlight)
			}
			g.Expect(most).To(Equal(3))
			g.Expect(m.Stats().InFlight).To(BeZero())
			mu.Lock()
			defer mu.Unlock()
			g.Expect(batches[3]).To(BeNumerically(">=", 2), "all three leases in one call")
			g.Expect(lags).To(BeNumerically("~", 90, 15), "twice a second or a little more, of a node alone")
		})
	})

	It("is for how long sessions go unowned, by a node that has no room for them", func() {
		bubble.Run(func(g Gomega) {
			f := nodetest.New(g)
			defer f.Stop()
			f.PutMany(5, 10*time.Second)
			m := f.Start(gauged, func(c *node.Config) { c.MaxSessions = 3 })
			bubble.Sleep(65 * time.Second)
			s := m.Stats().Known
			g.Expect(s.Owned).To(Equal(3))
			g.Expect(s.Unleased).To(Equal(2))
			g.Expect(time.Since(s.FreeSince)).To(BeNumerically("~", 65*time.Second, 2*time.Second))
			g.Expect(s.Free).To(BeNumerically("~", 2*60*time.Second, 12*time.Second), "up to the last look")
			f.Start(gauged)
			bubble.Sleep(30 * time.Second)
			after := m.Stats().Known
			g.Expect(after.Unleased).To(BeZero())
			g.Expect(after.FreeSince).To(BeZero())
			bubble.Sleep(30 * time.Second)
			g.Expect(m.Stats().Known.Free).To(Equal(after.Free), "nothing is free any more")
		})
	})

	It("is how many sessions of others nobody polls, though they are leased", func() {
		bubble.Run(func(g Gomega) {
			f := nodetest.New(g)
			defer f.Stop()
			f.PutMany(8, time.Second) // with a timeout of 5 s
			slow := func(c *node.Config) {
				c.Concurrency = 1
				c.Poll = func(ctx context.Context, _ poller.Job) poller.Outcome {
					<-ctx.Done()
					return poller.Outcome{Class: "timeout"}
				}
			}
			a, b := f.Start(gauged), f.Start(gauged, slow)
			bubble.Sleep(60 * time.Second)
			g.Expect(b.Leases()).To(Equal(4))
			g.Expect(a.Stats().Overdue).To(And(BeNumerically(">=", 2), BeNumerically("<=", 4)), "of the other's")
			g.Expect(b.Stats().Overdue).To(BeZero(), "of this one's")
			g.Expect(b.Drain()).To(Succeed())
			bubble.Sleep(30 * time.Second)
			g.Expect(a.Leases()).To(Equal(8))
			g.Expect(a.Stats().Overdue).To(BeZero(), "they have another owner")
		})
	})
})

var _ = Describe("a node is alive", func() {
	It("unless a poll goes on a second after its lease ended", func() {
		bubble.Run(func(g Gomega) {
			f := nodetest.New(g)
			defer f.Stop()
			f.PutMany(1, 10*time.Second)
			gate := make(chan struct{})
			m := f.Start(gauged, func(c *node.Config) {
				c.Poll = func(context.Context, poller.Job) poller.Outcome { // heeds no context
					<-gate
					return poller.Outcome{OK: true, Class: poller.Success}
				}
			})
			bubble.Sleep(5 * time.Second)
			g.Expect(m.Stats().InFlight).To(Equal(1))
			g.Expect(m.Bounded()).To(Succeed(), "it is late, but nobody else may poll")
			m.Link.Cut()
			bubble.Sleep(23 * time.Second)
			g.Expect(m.Bounded()).To(Succeed(), "its lease is still to be relied on")
			bubble.Sleep(4 * time.Second)
			g.Expect(m.Bounded()).To(MatchError(ContainSubstring("1 polls go on")))
			g.Expect(m.Moving()).To(Succeed(), "that depends on no Redis")
			close(gate)
			bubble.Sleep(time.Second)
			g.Expect(m.Bounded()).To(Succeed())
		})
	})

	It("unless an actor handles no messages for ten seconds", func() {
		bubble.Run(func(g Gomega) {
			f := nodetest.New(g)
			defer f.Stop()
			f.PutMany(1, 10*time.Second)
			turn := make(chan struct{}, 1) // without it no actor goes on
			turn <- struct{}{}
			m := f.Start(gauged, func(c *node.Config) {
				c.Hold = func() { turn <- <-turn }
			})
			bubble.Sleep(30 * time.Second)
			g.Expect(m.Moving()).To(Succeed())
			<-turn
			bubble.Sleep(9 * time.Second)
			g.Expect(m.Moving()).To(Succeed(), "not yet")
			bubble.Sleep(4 * time.Second)
			g.Expect(m.Moving()).To(MatchError(ContainSubstring("handles no messages")))
			turn <- struct{}{}
			bubble.Sleep(0)
			g.Expect(m.Moving()).To(Succeed(), "as soon as it has answered")
			bubble.Sleep(time.Minute)
			g.Expect(m.Moving()).To(Succeed())
		})
	})

	It("whatever Redis does, and when it has drained", func() {
		bubble.Run(func(g Gomega) {
			f := nodetest.New(g)
			defer f.Stop()
			f.PutMany(3, 10*time.Second)
			m := f.Start(gauged)
			bubble.Sleep(10 * time.Second)
			m.Link.Cut()
			bubble.Sleep(time.Hour)
			g.Expect(m.Moving()).To(Succeed())
			g.Expect(m.Bounded()).To(Succeed())
			m.Link.Heal()
			bubble.Sleep(time.Minute)
			g.Expect(m.Leases()).To(Equal(3))
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			g.Expect(m.Node.Drain(ctx, time.Second)).To(Succeed())
			bubble.Sleep(time.Minute)
			g.Expect(m.Moving()).To(Succeed())
		})
	})
})
