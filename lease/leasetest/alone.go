package leasetest

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/gomega" //nolint:revive,staticcheck // specs read as sentences

	"leasehold/lease"
)

func aloneSpecs(run Runner) {
	for what, end := range map[string]func(ctx context.Context, g Gomega, f *Fixture, old lease.Grant){
		"an operator released": func(ctx context.Context, g Gomega, f *Fixture, old lease.Grant) {
			g.Expect(f.Store.Release(ctx, []lease.Release{{Grant: old, Forced: true}})[0]).To(Succeed())
		},
		"somebody deleted": func(ctx context.Context, g Gomega, f *Fixture, _ lease.Grant) {
			f.raw(ctx, g, "DEL", f.Keys.Lease("s"))
		},
	} {
		it(run, "grants nothing for work without a begin while a poll may be in flight whose lease "+what, func(ctx context.Context, g Gomega, f *Fixture) {
			alone := func() lease.Outcome {
				return f.Store.Acquire(ctx, "w1", []lease.Claim{{Session: "s", TTL: long, Alone: true}})[0]
			}
			old := f.take(ctx, g, "n1", "s", 2*short)
			start, err := f.Store.Begin(ctx, old, lease.Slot{Interval: short, Bound: long})
			g.Expect(err).NotTo(HaveOccurred())
			end(ctx, g, f, old)
			o := alone()
			g.Expect(o.Err).NotTo(HaveOccurred())
			g.Expect(o).To(Equal(lease.Outcome{Session: "s", Token: old.Token, Remaining: o.Remaining, Server: o.Server}))
			g.Expect(o.Remaining).To(BeNumerically("~", 2*short, short))
			g.Expect(f.raw(ctx, g, "EXISTS", f.Keys.Lease("s"))).To(Equal(int64(0)))
			f.raw(ctx, g, "HSET", f.Keys.State("s"), "last", start.At.Add(24*time.Hour).UnixMilli(),
				"busy_max", start.At.Add(24*time.Hour+short).UnixMilli(), "busy_until", start.At.Add(24*time.Hour+short).UnixMilli())
			g.Expect(alone().Remaining).To(BeNumerically("<=", short), "begun by a clock that was set back")
			f.raw(ctx, g, "HSET", f.Keys.State("s"), "last", start.At.UnixMilli(), "busy_until", start.At.Add(2*short).UnixMilli())
			f.Sleep(2*short + time.Millisecond)
			g.Expect(alone().Token).To(Equal(old.Token + 1))
		})
	}

	it(run, "grants such work what the last holder released, or let run out", func(ctx context.Context, g Gomega, f *Fixture) {
		for i, end := range []func(lease.Grant){
			func(old lease.Grant) { g.Expect(f.release(ctx, old)).To(Succeed()) },
			func(lease.Grant) { f.Sleep(2*short + 2*time.Millisecond) },
		} {
			id := fmt.Sprint("s", i)
			old := f.take(ctx, g, "n1", id, 2*short)
			_, err := f.Store.Begin(ctx, old, lease.Slot{Interval: short, Bound: long})
			g.Expect(err).NotTo(HaveOccurred())
			end(old)
			o := f.Store.Acquire(ctx, "w1", []lease.Claim{{Session: id, TTL: long, Alone: true}})[0]
			g.Expect(o.Granted).To(BeTrue(), id)
		}
	})
}
