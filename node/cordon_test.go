package node_test

import (
	"context"
	"math/rand/v2"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"leasehold/internal/bubble"
	"leasehold/internal/nodetest"
	"leasehold/lease"
	"leasehold/node"
	"leasehold/rediskey"
	"leasehold/redisstore"
	"leasehold/results"
)

// operator writes what is wanted of nodes.
func operator(f *nodetest.Fleet) *redisstore.Store {
	return redisstore.New(f.Client, rediskey.Default(), redisstore.Options{})
}

func carded(shared map[string]string) func(*node.Config) {
	return func(c *node.Config) { c.Card = &lease.Card{Instance: c.Instance, Shared: shared} }
}

var _ = Describe("an operator", func() {
	It("drains a node, which takes nothing back until it is uncordoned, and no slot is missed or repeated", func() {
		bubble.Run(func(g Gomega) {
			f := nodetest.New(g)
			defer f.Stop()
			ctx := context.Background()
			f.PutMany(12, 2*time.Second)
			var names []string
			for range 3 {
				names = append(names, f.Start(carded(nil)).Name)
			}
			bubble.Sleep(20 * time.Second)
			balanced(g, f, 12, 3)

			at := time.Now()
			g.Expect(operator(f).SetCordon(ctx, names[0], lease.Drained)).To(Succeed())
			bubble.Sleep(3 * time.Second)
			g.Expect(f.Loads()).To(Equal(map[string]int{names[1]: 6, names[2]: 6}))
			for range 30 { // new sessions, a death, and time: it stays empty
				bubble.Sleep(2 * time.Second)
				g.Expect(f.Loads()[names[0]]).To(BeZero())
			}
			polls := f.Target.Since(at)
			g.Expect(polls).To(HaveLen(12))
			for id, list := range polls {
				g.Expect(len(list)).To(BeNumerically("~", 31, 1), id)
			}
			g.Expect(f.Target.Overlaps()).To(BeEmpty())

			g.Expect(operator(f).SetCordon(ctx, names[0], lease.Open)).To(Succeed())
			bubble.Sleep(3 * time.Second)
			balanced(g, f, 12, 3)
			g.Expect(f.Target.Overlaps()).To(BeEmpty())
			g.Expect(f.Members()[0].Log.Events("node.cordoned")).To(HaveLen(1))
			g.Expect(f.Members()[0].Log.Events("node.uncordoned")).To(HaveLen(1))
		})
	})

	It("cordons a node: it keeps what it has, and a dead node's sessions go to others within the bound", func() {
		bubble.Run(func(g Gomega) {
			f := nodetest.New(g)
			defer f.Stop()
			f.PutMany(12, 2*time.Second)
			var names []string
			for range 3 {
				names = append(names, f.Start(carded(nil)).Name)
			}
			bubble.Sleep(20 * time.Second)
			g.Expect(operator(f).SetCordon(context.Background(), names[0], lease.Cordoned)).To(Succeed())
			bubble.Sleep(time.Second)
			at := time.Now()
			f.Members()[1].Kill()
			bubble.Sleep(30*time.Second + 200*time.Millisecond)
			g.Expect(f.Loads()).To(Equal(map[string]int{names[0]: 4, names[2]: 8}))
			bubble.Sleep(2 * time.Second)
			g.Expect(f.Target.Since(at.Add(30 * time.Second))).To(HaveLen(12))
			bubble.Sleep(time.Minute)
			g.Expect(f.Loads()).To(Equal(map[string]int{names[0]: 4, names[2]: 8}))
		})
	})

	It("finds a cordon kept while its node lives, through a restart of all others, and gone with it", func() {
		bubble.Run(func(g Gomega) {
			f := nodetest.New(g)
			defer f.Stop()
			ctx := context.Background()
			f.PutMany(4, 2*time.Second)
			first, second := f.Start(carded(nil)), f.Start(carded(nil))
			bubble.Sleep(10 * time.Second)
			g.Expect(operator(f).SetCordon(ctx, first.Name, lease.Drained)).To(Succeed())
			bubble.Sleep(3 * time.Second)
			third := f.Start(carded(nil))
			bubble.Sleep(5 * time.Second)
			second.Kill()
			bubble.Sleep(time.Minute)
			g.Expect(f.Client.PTTL(ctx, "poll:cordon:"+first.Name).Val()).To(BeNumerically(">", lease.CordonTTL-11*time.Second))
			g.Expect(f.Loads()).To(Equal(map[string]int{third.Name: 4}))
			g.Expect(first.Drain()).To(Succeed())
			g.Expect(f.Client.Exists(ctx, "poll:cordon:"+first.Name, "poll:info:"+first.Name).Val()).To(BeZero())
			g.Expect(f.Client.Exists(ctx, "poll:info:"+third.Name).Val()).To(Equal(int64(1)))
		})
	})
})

var _ = Describe("a node's card", func() {
	It("tells how many of its results were refused", func() {
		bubble.Run(func(g Gomega) {
			f := nodetest.New(g)
			defer f.Stop()
			hub := results.NewHub(context.Background(), nil)
			m := f.Start(carded(nil), func(c *node.Config) { c.Results = hub })
			refused := func() uint64 {
				cards, err := operator(f).Cards(context.Background(), []string{m.Name})
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(cards[0]).NotTo(BeNil())
				return cards[0].Refused
			}
			bubble.Sleep(time.Second)
			g.Expect(refused()).To(BeZero())
			hub.Fenced()
			hub.Fenced()
			bubble.Sleep(11 * time.Second)
			g.Expect(refused()).To(Equal(uint64(2)))
		})
	})

	It("goes with its node, also while it is being written", func() {
		bubble.Run(func(g Gomega) {
			f := nodetest.New(g)
			defer f.Stop()
			ctx := context.Background()
			for seed := range uint64(10) {
				m := f.Start(carded(nil))
				bubble.Sleep(10*time.Second - 10*time.Millisecond) // a card is due
				m.Link.Delay(10*time.Millisecond, 200*time.Millisecond, rand.New(rand.NewPCG(seed, 0)))
				bubble.Sleep(20 * time.Millisecond)
				g.Expect(m.Drain()).To(Succeed())
				bubble.Sleep(time.Second)
				g.Expect(f.Client.Exists(ctx, "poll:node:"+m.Name, "poll:info:"+m.Name).Val()).To(BeZero())
			}
		})
	})

	It("is compared with the others' at the start, each setting once", func() {
		bubble.Run(func(g Gomega) {
			f := nodetest.New(g)
			defer f.Stop()
			first := f.Start(carded(map[string]string{"LEASEHOLD_LEASE_TTL": "30s", "LEASEHOLD_POLL_TIMEOUT": "5s"}))
			f.Start(carded(map[string]string{"LEASEHOLD_LEASE_TTL": "30s", "LEASEHOLD_POLL_TIMEOUT": "5s"}))
			f.Start() // says nothing of itself
			odd := f.Start(carded(map[string]string{"LEASEHOLD_LEASE_TTL": "6s", "LEASEHOLD_POLL_TIMEOUT": "5s"}))
			bubble.Sleep(time.Minute)
			g.Expect(first.Log.Events("settings.warning")).To(BeEmpty())
			g.Expect(odd.Log.Events("settings.warning")).To(HaveLen(1))
			g.Expect(odd.Log.Events("settings.warning")[0]).To(ContainSubstring("LEASEHOLD_LEASE_TTL is 6s here and 30s on"))
		})
	})
})
