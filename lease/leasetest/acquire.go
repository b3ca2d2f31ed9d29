package leasetest

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	. "github.com/onsi/gomega" //nolint:revive,staticcheck // specs read as sentences

	"leasehold/lease"
)

func acquireSpecs(run Runner) {
	it(run, "takes a free lease, with a TTL and the server's time as the first token", func(ctx context.Context, g Gomega, f *Fixture) {
		before := time.Now().Add(-time.Second).UnixMicro()
		o := f.claim(ctx, "n1", "s", long)
		g.Expect(o.Err).NotTo(HaveOccurred())
		g.Expect(o).To(Equal(lease.Outcome{
			Session: "s", Granted: true, Fresh: true, Holder: "n1", Token: o.Token, Remaining: long, Server: o.Server,
		}))
		g.Expect(int64(o.Token)).To(BeNumerically(">=", before))
		g.Expect(int64(o.Token)).To(BeNumerically("<=", time.Now().Add(time.Second).UnixMicro()))
		g.Expect(f.holder(ctx, g, "s")).To(Equal("n1"))
		g.Expect(f.left(ctx, g, f.Keys.Lease("s"))).To(BeNumerically("~", long, time.Second))
		g.Expect(f.number(ctx, g, "version")).To(Equal(int64(o.Token)))
		g.Expect(f.left(ctx, g, f.Keys.State("s"))).To(BeNumerically(">", 24*time.Hour))
	})

	it(run, "raises the token by exactly one with every acquisition", func(ctx context.Context, g Gomega, f *Fixture) {
		last := f.take(ctx, g, "n1", "s", long)
		for i := range 5 {
			g.Expect(f.release(ctx, last)).To(Succeed())
			next := f.take(ctx, g, fmt.Sprintf("n%d", i), "s", long)
			g.Expect(next.Token).To(Equal(last.Token + 1))
			last = next
		}
	})

	it(run, "grants a holder its own lease again with the same token and a full TTL", func(ctx context.Context, g Gomega, f *Fixture) {
		first := f.take(ctx, g, "n1", "s", time.Second)
		again := f.claim(ctx, "n1", "s", long)
		g.Expect(again).To(Equal(lease.Outcome{
			Session: "s", Granted: true, Already: true, Holder: "n1", Token: first.Token, Remaining: long, Server: again.Server,
		}))
		g.Expect(f.left(ctx, g, f.Keys.Lease("s"))).To(BeNumerically("~", long, time.Second))
		f.raw(ctx, g, "PERSIST", f.Keys.Lease("s"))
		g.Expect(f.claim(ctx, "n1", "s", long).Already).To(BeTrue())
		g.Expect(f.left(ctx, g, f.Keys.Lease("s"))).To(BeNumerically("~", long, time.Second))
	})

	it(run, "names the holder, its token and the time left of a lease that another holds", func(ctx context.Context, g Gomega, f *Fixture) {
		first := f.take(ctx, g, "n1", "s", long)
		o := f.claim(ctx, "n2", "s", long)
		g.Expect(o.Granted).To(BeFalse())
		g.Expect(o.Err).NotTo(HaveOccurred())
		g.Expect(o.Holder).To(Equal("n1"))
		g.Expect(o.Token).To(Equal(first.Token))
		g.Expect(o.Remaining).To(BeNumerically("~", long, time.Second))
		g.Expect(f.holder(ctx, g, "s")).To(Equal("n1"))
	})

	it(run, "takes a lease whose TTL ran out", func(ctx context.Context, g Gomega, f *Fixture) {
		first := f.take(ctx, g, "n1", "s", short)
		f.Sleep(short + 2*time.Millisecond)
		g.Expect(f.take(ctx, g, "n2", "s", long).Token).To(Equal(first.Token + 1))
	})

	it(run, "takes over a lease without expiry only from the holder named as having abandoned it", func(ctx context.Context, g Gomega, f *Fixture) {
		first := f.take(ctx, g, "n1", "s", long)
		f.raw(ctx, g, "PERSIST", f.Keys.Lease("s"))
		from := func(abandoned string) lease.Outcome {
			return f.Store.Acquire(ctx, "n2", []lease.Claim{{Session: "s", TTL: long, Abandoned: abandoned}})[0]
		}
		o := from("")
		g.Expect(o.Granted).To(BeFalse())
		g.Expect(o.Remaining).To(Equal(lease.NoExpiry))
		g.Expect(from("n3").Granted).To(BeFalse())
		o = from("n1")
		g.Expect(o.Granted).To(BeTrue())
		g.Expect(o.Token).To(Equal(first.Token + 1))
		g.Expect(f.left(ctx, g, f.Keys.Lease("s"))).To(BeNumerically("~", long, time.Second))
		g.Expect(f.claim(ctx, "n1", "s", long).Granted).To(BeFalse())
	})

	it(run, "never takes over a lease that still runs, abandoned or not", func(ctx context.Context, g Gomega, f *Fixture) {
		f.take(ctx, g, "n1", "s", long)
		o := f.Store.Acquire(ctx, "n2", []lease.Claim{{Session: "s", TTL: long, Abandoned: "n1"}})[0]
		g.Expect(o.Granted).To(BeFalse())
		g.Expect(o.Holder).To(Equal("n1"))
	})

	it(run, "grants a lease to exactly one of twelve that claim it at once", func(ctx context.Context, g Gomega, f *Fixture) {
		for round := range 20 {
			id := fmt.Sprintf("s%d", round)
			var granted atomic.Int32
			var wg sync.WaitGroup
			for i := range 12 {
				wg.Go(func() {
					if f.claim(ctx, fmt.Sprintf("n%d", i), id, long).Granted {
						granted.Add(1)
					}
				})
			}
			wg.Wait()
			g.Expect(granted.Load()).To(Equal(int32(1)))
		}
	})

	it(run, "never falls back to a lower token when the server lost everything", func(ctx context.Context, g Gomega, f *Fixture) {
		var last lease.Grant
		for range 3 {
			last = f.take(ctx, g, "n1", "s", long)
			g.Expect(f.release(ctx, last)).To(Succeed())
		}
		f.Sleep(time.Millisecond)
		g.Expect(f.Everywhere(ctx, "FLUSHALL")).To(Succeed())
		o := f.claim(ctx, "n2", "s", long)
		g.Expect(o.Fresh).To(BeTrue())
		g.Expect(o.Token).To(BeNumerically(">", last.Token))
	})

	it(run, "gives a holder whose counter vanished a new, higher token", func(ctx context.Context, g Gomega, f *Fixture) {
		first := f.take(ctx, g, "n1", "s", long)
		f.Sleep(time.Millisecond)
		f.raw(ctx, g, "DEL", f.Keys.State("s"))
		o := f.claim(ctx, "n1", "s", long)
		g.Expect(o.Granted && o.Already && o.Fresh).To(BeTrue())
		g.Expect(o.Token).To(BeNumerically(">", first.Token))
		g.Expect(f.renew(ctx, lease.Grant{Session: "s", Holder: "n1", Token: o.Token}, long).Err).To(Succeed())
	})

	it(run, "starts a counter anew that is no number", func(ctx context.Context, g Gomega, f *Fixture) {
		f.raw(ctx, g, "HSET", f.Keys.State("s"), "version", "seven")
		o := f.claim(ctx, "n1", "s", long)
		g.Expect(o.Granted && o.Fresh).To(BeTrue())
		g.Expect(int64(o.Token)).To(BeNumerically("~", time.Now().UnixMicro(), 1e6))
	})

	it(run, "counts exactly up to the end of 63 bits", func(ctx context.Context, g Gomega, f *Fixture) {
		f.raw(ctx, g, "HSET", f.Keys.State("s"), "version", "9223372036854775800")
		grant := f.take(ctx, g, "n1", "s", long)
		g.Expect(grant.Token).To(Equal(lease.Token(9223372036854775801)))
		g.Expect(f.renew(ctx, grant, long).Err).To(Succeed())
		g.Expect(f.release(ctx, grant)).To(Succeed())
	})

	it(run, "counts exactly also where floating point ends, and only what is a number", func(ctx context.Context, g Gomega, f *Fixture) {
		for i, version := range []string{"9007199254740990", "9007199254740991", "9007199254740992", "9007199254740993", "0", "-3"} {
			id := fmt.Sprintf("s%d", i)
			f.raw(ctx, g, "HSET", f.Keys.State(id), "version", version)
			before, err := strconv.ParseInt(version, 10, 64)
			g.Expect(err).NotTo(HaveOccurred())
			grant := f.take(ctx, g, "n1", id, long)
			g.Expect(grant.Token).To(Equal(lease.Token(before+1)), version)
			g.Expect(f.raw(ctx, g, "HGET", f.Keys.State(id), "version")).To(Equal(strconv.FormatInt(before+1, 10)))
			g.Expect(f.renew(ctx, grant, long).Err).To(Succeed())
		}
		for i, version := range []string{"0x10", "1e3", "12.5", ""} {
			id := fmt.Sprintf("odd%d", i)
			f.raw(ctx, g, "HSET", f.Keys.State(id), "version", version)
			o := f.claim(ctx, "n1", id, long)
			g.Expect(o.Granted && o.Fresh).To(BeTrue(), version)
			g.Expect(int64(o.Token)).To(BeNumerically("~", time.Now().UnixMicro(), 1e6))
		}
	})

	it(run, "takes a session once that a batch names twice", func(ctx context.Context, g Gomega, f *Fixture) {
		c := lease.Claim{Session: "s", TTL: long}
		out := f.Store.Acquire(ctx, "n1", []lease.Claim{c, c})
		g.Expect(out[0].Granted && out[1].Granted && out[1].Already).To(BeTrue())
		g.Expect(out[0].Already).To(BeFalse())
		g.Expect(out[1].Token).To(Equal(out[0].Token))
		g.Expect(f.number(ctx, g, "version")).To(Equal(int64(out[0].Token)))
	})

	it(run, "restarts the TTL of a state that has lost some of it", func(ctx context.Context, g Gomega, f *Fixture) {
		grant := f.take(ctx, g, "n1", "s", long)
		full := f.left(ctx, g, f.Keys.State("s"))
		for _, left := range []time.Duration{time.Minute, full - full/50} {
			f.raw(ctx, g, "PEXPIRE", f.Keys.State("s"), left.Milliseconds())
			g.Expect(f.release(ctx, grant)).To(Succeed())
			grant = f.take(ctx, g, "n1", "s", long)
			g.Expect(f.left(ctx, g, f.Keys.State("s"))).To(BeNumerically("~", full, time.Minute))
		}
		f.raw(ctx, g, "PERSIST", f.Keys.State("s"))
		f.take(ctx, g, "n1", "s", long)
		g.Expect(f.left(ctx, g, f.Keys.State("s"))).To(BeNumerically("~", full, time.Minute))
	})

	it(run, "reports keys of a foreign type and leaves them alone", func(ctx context.Context, g Gomega, f *Fixture) {
		f.raw(ctx, g, "RPUSH", f.Keys.Lease("l"), "x")
		f.raw(ctx, g, "SET", f.Keys.State("st"), "x")
		for _, id := range []string{"l", "st"} {
			o := f.claim(ctx, "n1", id, long)
			g.Expect(o.Err).To(MatchError(lease.ErrForeign))
			g.Expect(o.Granted).To(BeFalse())
		}
		g.Expect(f.raw(ctx, g, "LLEN", f.Keys.Lease("l"))).To(Equal(int64(1)))
		g.Expect(f.raw(ctx, g, "GET", f.Keys.State("st"))).To(Equal("x"))
		g.Expect(f.holder(ctx, g, "st")).To(BeNil())
	})

	it(run, "says how far the next start of a granted session is away", func(ctx context.Context, g Gomega, f *Fixture) {
		f.raw(ctx, g, "HSET", f.Keys.State("s"), "due", time.Now().Add(5*time.Second).UnixMilli(), "interval", 10000)
		g.Expect(f.claim(ctx, "n1", "s", long).Wait).To(BeNumerically("~", 5*time.Second, time.Second))
		f.raw(ctx, g, "HSET", f.Keys.State("s"), "retry_at", time.Now().Add(8*time.Second).UnixMilli())
		g.Expect(f.claim(ctx, "n1", "s", long).Wait).To(BeNumerically("~", 8*time.Second, time.Second))
	})

	it(run, "counts an interval that was edited from the last start", func(ctx context.Context, g Gomega, f *Fixture) {
		now := time.Now()
		f.raw(ctx, g, "HSET", f.Keys.State("s"), "last", now.Add(-10*time.Second).UnixMilli(),
			"due", now.Add(50*time.Second).UnixMilli(), "interval", 60_000)
		wait := func(interval time.Duration) time.Duration {
			return f.Store.Acquire(ctx, "n1", []lease.Claim{{Session: "s", TTL: long, Interval: interval}})[0].Wait
		}
		g.Expect(wait(time.Minute)).To(BeNumerically("~", 50*time.Second, time.Second))
		g.Expect(wait(30 * time.Second)).To(BeNumerically("~", 20*time.Second, time.Second))
		g.Expect(wait(2 * time.Minute)).To(BeNumerically("~", 110*time.Second, time.Second))
		g.Expect(wait(5 * time.Second)).To(BeZero())
		g.Expect(wait(0)).To(BeNumerically("~", 50*time.Second, time.Second))
	})

	it(run, "waits no longer than two intervals for a due time that a wrong clock wrote", func(ctx context.Context, g Gomega, f *Fixture) {
		f.raw(ctx, g, "HSET", f.Keys.State("s"), "due", time.Now().Add(time.Hour).UnixMilli(), "interval", 10000)
		g.Expect(f.claim(ctx, "n1", "s", long).Wait).To(Equal(20 * time.Second))
	})

	it(run, "works with any ID", func(ctx context.Context, g Gomega, f *Fixture) {
		for _, id := range oddIDs() {
			grant := f.take(ctx, g, "holder:{x}\n", id, long)
			g.Expect(f.renew(ctx, grant, long).Err).To(Succeed(), id)
			_, err := f.Store.Begin(ctx, grant, lease.Slot{Interval: time.Second, Bound: time.Second})
			g.Expect(err).NotTo(HaveOccurred(), id)
			g.Expect(f.Store.Finish(ctx, grant, lease.Result{OK: true})).To(Succeed(), id)
			g.Expect(f.Store.Look(ctx, []string{id})[0].Holder).To(Equal("holder:{x}\n"))
			g.Expect(f.forget(ctx, grant)).To(Succeed(), id)
			g.Expect(f.raw(ctx, g, "EXISTS", f.Keys.State(id))).To(Equal(int64(0)))
		}
	})
}
