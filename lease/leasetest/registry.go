package leasetest

import (
	"context"
	"time"

	. "github.com/onsi/gomega" //nolint:revive,staticcheck // specs read as sentences

	"leasehold/lease"
)

func registrySpecs(run Runner) {
	card := lease.Card{
		Instance: "n1", Version: "v1.2.3", Started: time.Unix(1_800_000_000, 5000).UTC(), HTTPAddr: "127.0.0.1:8080",
		MaxSessions: 7, Refused: 3, Shared: map[string]string{"LEASEHOLD_LEASE_TTL": "30s"},
	}

	it(run, "shows cards to whoever asks, as long as they live", func(ctx context.Context, g Gomega, f *Fixture) {
		g.Expect(f.Store.Publish(ctx, card, long)).To(Succeed())
		f.raw(ctx, g, "SET", f.Keys.Card("odd"), "no card")
		f.raw(ctx, g, "RPUSH", f.Keys.Card("list"), "x")
		cards, err := f.Store.Cards(ctx, []string{"none", "n1", "odd", "list"})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(cards).To(Equal([]*lease.Card{nil, &card, nil, nil}))
		g.Expect(f.Store.Publish(ctx, card, short)).To(Succeed())
		f.Sleep(short + 2*time.Millisecond)
		g.Expect(f.Store.Cards(ctx, []string{"n1"})).To(Equal([]*lease.Card{nil}))
		g.Expect(f.Store.Cards(ctx, nil)).To(BeEmpty())
	})

	it(run, "tells members' cordons, keeps them while the node publishes, and drops them as it leaves", func(ctx context.Context, g Gomega, f *Fixture) {
		for name, c := range map[string]lease.Cordon{"n1": lease.Drained, "n2": lease.Cordoned, "n3": lease.Drained} {
			g.Expect(f.Store.Beat(ctx, name, long)).To(Succeed())
			g.Expect(f.Store.SetCordon(ctx, name, c)).To(Succeed())
		}
		g.Expect(f.raw(ctx, g, "GET", f.Keys.Cordon("n1"))).To(Equal("drained"))
		g.Expect(f.Store.SetCordon(ctx, "n3", lease.Open)).To(Succeed())
		list, err := f.Store.List(ctx)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(cordons(list)).To(Equal([]lease.Cordon{lease.Drained, lease.Cordoned, lease.Open}))
		checked, err := f.Store.Check(ctx, []string{"n3", "n2", "gone"})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(cordons(checked)).To(Equal([]lease.Cordon{lease.Open, lease.Cordoned, lease.Open}))

		f.raw(ctx, g, "PEXPIRE", f.Keys.Cordon("n1"), 60000)
		g.Expect(f.Store.Publish(ctx, card, long)).To(Succeed())
		g.Expect(f.raw(ctx, g, "PTTL", f.Keys.Cordon("n1"))).To(BeNumerically("~", lease.CordonTTL.Milliseconds(), 60000))
		g.Expect(f.Store.Leave(ctx, "n1")).To(Succeed())
		g.Expect(f.raw(ctx, g, "EXISTS", f.Keys.Cordon("n1"))).To(Equal(int64(0)))
		g.Expect(f.raw(ctx, g, "EXISTS", f.Keys.Card("n1"))).To(Equal(int64(0)))
	})

	it(run, "forgets the card of a node that has stopped", func(ctx context.Context, g Gomega, f *Fixture) {
		leaving := card
		leaving.Leaving = true
		g.Expect(f.Store.Publish(ctx, leaving, long)).To(Succeed())
		g.Expect(f.Store.Cards(ctx, []string{"n1"})).To(Equal([]*lease.Card{&leaving}))
		g.Expect(f.Store.Retire(ctx, "n1")).To(Succeed())
		g.Expect(f.raw(ctx, g, "EXISTS", f.Keys.Card("n1"))).To(Equal(int64(0)))
		g.Expect(f.Store.Retire(ctx, "n1")).To(Succeed(), "it has none")
	})

	it(run, "lists a node whose cordon is a foreign key, and takes a word that it does not know for a cordon", func(ctx context.Context, g Gomega, f *Fixture) {
		for _, name := range []string{"n1", "n2"} {
			g.Expect(f.Store.Beat(ctx, name, long)).To(Succeed())
		}
		f.raw(ctx, g, "RPUSH", f.Keys.Cordon("n1"), "x")
		f.raw(ctx, g, "SET", f.Keys.Cordon("n2"), "paused")
		for range 2 {
			list, err := f.Store.List(ctx)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(names(list)).To(Equal([]string{"n1", "n2"}))
			g.Expect(cordons(list)).To(Equal([]lease.Cordon{lease.Open, lease.Cordoned}))
		}
		checked, err := f.Store.Check(ctx, []string{"n1"})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(checked[0].Remaining).To(BeNumerically("~", long, time.Second))
	})
}

func cordons(members []lease.Member) []lease.Cordon {
	out := make([]lease.Cordon, len(members))
	for i, m := range members {
		out[i] = m.Cordon
	}

	return out
}
