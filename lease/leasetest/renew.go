package leasetest

import (
	"context"
	"time"

	. "github.com/onsi/gomega" //nolint:revive,staticcheck // specs read as sentences

	"leasehold/lease"
)

func renewSpecs(run Runner) {
	it(run, "restarts the TTL and leaves the token as it is", func(ctx context.Context, g Gomega, f *Fixture) {
		grant := f.take(ctx, g, "n1", "s", time.Second)
		g.Expect(f.renew(ctx, grant, long)).To(Equal(lease.Verdict{}))
		g.Expect(f.left(ctx, g, f.Keys.Lease("s"))).To(BeNumerically("~", long, time.Second))
		g.Expect(f.number(ctx, g, "version")).To(Equal(int64(grant.Token)))
	})

	it(run, "restarts each lease's own TTL", func(ctx context.Context, g Gomega, f *Fixture) {
		one, other := f.take(ctx, g, "n1", "s", time.Second), f.take(ctx, g, "n1", "t", time.Second)
		for _, v := range f.Store.Renew(ctx, []lease.Renewal{{Grant: one, TTL: long}, {Grant: other, TTL: 3 * long}}) {
			g.Expect(v).To(Equal(lease.Verdict{}))
		}
		g.Expect(f.left(ctx, g, f.Keys.Lease("s"))).To(BeNumerically("~", long, time.Second))
		g.Expect(f.left(ctx, g, f.Keys.Lease("t"))).To(BeNumerically("~", 3*long, time.Second))
	})

	it(run, "keeps a lease alive over many TTLs", func(ctx context.Context, g Gomega, f *Fixture) {
		grant := f.take(ctx, g, "n1", "s", short)
		for range 6 {
			f.Sleep(short / 3)
			g.Expect(f.renew(ctx, grant, short).Err).To(Succeed())
		}
		g.Expect(f.holder(ctx, g, "s")).To(Equal("n1"))
	})

	it(run, "gives a lease its missing TTL back", func(ctx context.Context, g Gomega, f *Fixture) {
		grant := f.take(ctx, g, "n1", "s", long)
		f.raw(ctx, g, "PERSIST", f.Keys.Lease("s"))
		g.Expect(f.renew(ctx, grant, long).Err).To(Succeed())
		g.Expect(f.left(ctx, g, f.Keys.Lease("s"))).To(BeNumerically("~", long, time.Second))
	})

	it(run, "refuses a missing lease and never makes it again", func(ctx context.Context, g Gomega, f *Fixture) {
		grant := f.take(ctx, g, "n1", "s", long)
		f.raw(ctx, g, "DEL", f.Keys.Lease("s"))
		v := f.renew(ctx, grant, long)
		g.Expect(v.Err).To(MatchError(lease.ErrLost))
		g.Expect(v.Holder).To(BeEmpty())
		g.Expect(f.holder(ctx, g, "s")).To(BeNil())
	})

	it(run, "refuses a lease that another holds, names it and leaves its TTL alone", func(ctx context.Context, g Gomega, f *Fixture) {
		old := f.take(ctx, g, "n1", "s", long)
		g.Expect(f.release(ctx, old)).To(Succeed())
		f.take(ctx, g, "n2", "s", long)
		v := f.renew(ctx, old, 10*long)
		g.Expect(v.Err).To(MatchError(lease.ErrLost))
		g.Expect(v.Holder).To(Equal("n2"))
		g.Expect(f.left(ctx, g, f.Keys.Lease("s"))).To(BeNumerically("<=", long))
	})

	it(run, "refuses an old token of the same holder", func(ctx context.Context, g Gomega, f *Fixture) {
		old := f.take(ctx, g, "n1", "s", long)
		g.Expect(f.release(ctx, old)).To(Succeed())
		f.take(ctx, g, "n1", "s", long)
		v := f.renew(ctx, old, 10*long)
		g.Expect(v.Err).To(MatchError(lease.ErrLost))
		g.Expect(v.Holder).To(Equal("n1"))
		g.Expect(f.left(ctx, g, f.Keys.Lease("s"))).To(BeNumerically("<=", long))
	})

	it(run, "reports foreign types", func(ctx context.Context, g Gomega, f *Fixture) {
		f.raw(ctx, g, "RPUSH", f.Keys.Lease("s"), "x")
		g.Expect(f.renew(ctx, lease.Grant{Session: "s", Holder: "n1", Token: 1}, long).Err).To(MatchError(lease.ErrForeign))
		grant := f.take(ctx, g, "n1", "t", long)
		f.raw(ctx, g, "SET", f.Keys.State("t"), "x")
		g.Expect(f.renew(ctx, grant, long).Err).To(MatchError(lease.ErrForeign))
	})

	it(run, "lets the poll in flight count as long as the lease does, up to its bound", func(ctx context.Context, g Gomega, f *Fixture) {
		grant := f.take(ctx, g, "n1", "s", time.Second)
		start, err := f.Store.Begin(ctx, grant, lease.Slot{Interval: time.Minute, Bound: 2 * long})
		g.Expect(err).NotTo(HaveOccurred())
		began := start.At.UnixMilli()
		g.Expect(f.number(ctx, g, "busy_until") - began).To(BeNumerically("<=", 1000))
		g.Expect(f.renew(ctx, grant, long).Err).To(Succeed())
		g.Expect(f.number(ctx, g, "busy_until") - began).To(BeNumerically("~", long.Milliseconds(), 1000))
		g.Expect(f.renew(ctx, grant, 5*long).Err).To(Succeed())
		g.Expect(f.number(ctx, g, "busy_until") - began).To(Equal((2 * long).Milliseconds()))
	})
}

func busySpecs(run Runner) {
	it(run, "lets no renewal for less, held up on its way, cut short what a later one gave", func(ctx context.Context, g Gomega, f *Fixture) {
		grant := f.take(ctx, g, "n1", "s", short)
		start, err := f.Store.Begin(ctx, grant, lease.Slot{Interval: time.Minute, Bound: 2 * long})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(f.renew(ctx, grant, long).Err).To(Succeed())
		g.Expect(f.renew(ctx, grant, short).Err).To(Succeed())
		g.Expect(f.number(ctx, g, "busy_until") - start.At.UnixMilli()).To(BeNumerically(">=", long.Milliseconds()))
	})

	begin := func(ctx context.Context, g Gomega, f *Fixture, grant lease.Grant) lease.Start {
		start, err := f.Store.Begin(ctx, grant, lease.Slot{Interval: time.Second, Bound: 2 * long})
		g.Expect(err).NotTo(HaveOccurred())
		return start
	}
	renew := func(ctx context.Context, g Gomega, f *Fixture, grant lease.Grant, busy time.Duration) {
		g.Expect(f.Store.Renew(ctx, []lease.Renewal{{Grant: grant, TTL: long, Busy: busy}})[0].Err).To(Succeed())
	}
	// lose has the server forget that a poll began, and then the lease end.
	lose := func(ctx context.Context, g Gomega, f *Fixture, between func()) (next lease.Grant) {
		f.raw(ctx, g, "HDEL", f.Keys.State("s"), "busy", "busy_until", "busy_max", "due", "last")
		between()
		f.raw(ctx, g, "DEL", f.Keys.Lease("s"))
		return f.take(ctx, g, "n2", "s", long)
	}

	it(run, "marks a poll in flight whose start the server forgot", func(ctx context.Context, g Gomega, f *Fixture) {
		grant := f.take(ctx, g, "n1", "s", long)
		began := begin(ctx, g, f, grant)
		next := lose(ctx, g, f, func() { renew(ctx, g, f, grant, 2*long) })
		start := begin(ctx, g, f, next)
		g.Expect(start.Wait).To(BeNumerically("~", long, time.Second), "as long as the lease would have lasted")
		g.Expect(f.Store.Finish(ctx, grant, lease.Result{OK: true, Started: began.At})).To(MatchError(lease.ErrLost))
	})

	it(run, "marks it up to its bound", func(ctx context.Context, g Gomega, f *Fixture) {
		grant := f.take(ctx, g, "n1", "s", long)
		begin(ctx, g, f, grant)
		next := lose(ctx, g, f, func() { renew(ctx, g, f, grant, long/10) })
		g.Expect(begin(ctx, g, f, next).Wait).To(BeNumerically("<=", long/10))
	})

	it(run, "marks none where there is none", func(ctx context.Context, g Gomega, f *Fixture) {
		grant := f.take(ctx, g, "n1", "s", long)
		begin(ctx, g, f, grant)
		next := lose(ctx, g, f, func() { renew(ctx, g, f, grant, 0) })
		g.Expect(begin(ctx, g, f, next).Wait).To(BeZero())
	})
}

func releaseSpecs(run Runner) {
	it(run, "ends the lease and keeps the counter", func(ctx context.Context, g Gomega, f *Fixture) {
		grant := f.take(ctx, g, "n1", "s", long)
		g.Expect(f.release(ctx, grant)).To(Succeed())
		g.Expect(f.holder(ctx, g, "s")).To(BeNil())
		g.Expect(f.number(ctx, g, "version")).To(Equal(int64(grant.Token)))
		g.Expect(f.release(ctx, grant)).To(MatchError(lease.ErrLost))
	})

	it(run, "never touches a lease of another holder or of another token", func(ctx context.Context, g Gomega, f *Fixture) {
		old := f.take(ctx, g, "n1", "s", long)
		g.Expect(f.release(ctx, old)).To(Succeed())
		now := f.take(ctx, g, "n2", "s", long)
		g.Expect(f.release(ctx, old)).To(MatchError(lease.ErrLost))
		g.Expect(f.forget(ctx, old)).To(MatchError(lease.ErrLost))
		g.Expect(f.release(ctx, lease.Grant{Session: "s", Holder: "n2", Token: old.Token})).To(MatchError(lease.ErrLost))
		g.Expect(f.release(ctx, lease.Grant{Session: "s", Holder: "n1", Token: now.Token})).To(MatchError(lease.ErrLost))
		g.Expect(f.holder(ctx, g, "s")).To(Equal("n2"))
		g.Expect(f.number(ctx, g, "version")).To(Equal(int64(now.Token)))
	})

	it(run, "ends the holder's lease also where the state with its token has gone", func(ctx context.Context, g Gomega, f *Fixture) {
		grant := f.take(ctx, g, "n1", "s", long)
		f.raw(ctx, g, "PERSIST", f.Keys.Lease("s"))
		f.raw(ctx, g, "DEL", f.Keys.State("s"))
		g.Expect(f.release(ctx, lease.Grant{Session: "s", Holder: "n2", Token: grant.Token})).To(MatchError(lease.ErrLost))
		g.Expect(f.holder(ctx, g, "s")).To(Equal("n1"))
		g.Expect(f.release(ctx, grant)).To(Succeed())
		g.Expect(f.holder(ctx, g, "s")).To(BeNil())
	})

	it(run, "takes back the mark of the holder's own poll", func(ctx context.Context, g Gomega, f *Fixture) {
		grant := f.take(ctx, g, "n1", "s", long)
		_, err := f.Store.Begin(ctx, grant, lease.Slot{Interval: time.Second, Bound: long})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(f.release(ctx, grant)).To(Succeed())
		g.Expect(f.field(ctx, g, "busy")).To(BeNil())
	})

	it(run, "forgets the state with the lease, and the next token is still higher", func(ctx context.Context, g Gomega, f *Fixture) {
		grant := f.take(ctx, g, "n1", "s", long)
		f.Sleep(time.Millisecond)
		g.Expect(f.forget(ctx, grant)).To(Succeed())
		g.Expect(f.raw(ctx, g, "EXISTS", f.Keys.State("s"))).To(Equal(int64(0)))
		g.Expect(f.take(ctx, g, "n2", "s", long).Token).To(BeNumerically(">", grant.Token))
	})

	it(run, "forgets the state for one who holds nothing where no lease is left", func(ctx context.Context, g Gomega, f *Fixture) {
		grant := f.take(ctx, g, "n1", "s", long)
		g.Expect(f.release(ctx, grant)).To(Succeed())
		g.Expect(f.forget(ctx, lease.Grant{Session: "s", Holder: "n2"})).To(MatchError(lease.ErrLost))
		g.Expect(f.raw(ctx, g, "EXISTS", f.Keys.State("s"))).To(Equal(int64(0)))
	})

	it(run, "reports foreign types and leaves them alone", func(ctx context.Context, g Gomega, f *Fixture) {
		f.raw(ctx, g, "RPUSH", f.Keys.Lease("s"), "x")
		f.raw(ctx, g, "SET", f.Keys.State("t"), "x")
		g.Expect(f.forget(ctx, lease.Grant{Session: "s", Holder: "n1"})).To(MatchError(lease.ErrForeign))
		g.Expect(f.forget(ctx, lease.Grant{Session: "t", Holder: "n1"})).To(MatchError(lease.ErrForeign))
		g.Expect(f.raw(ctx, g, "LLEN", f.Keys.Lease("s"))).To(Equal(int64(1)))
		g.Expect(f.raw(ctx, g, "GET", f.Keys.State("t"))).To(Equal("x"))
	})

	it(run, "leaves the mark of a poll in flight where not the holder asks, so that nobody begins before its end", func(ctx context.Context, g Gomega, f *Fixture) {
		slot := lease.Slot{Interval: short, Bound: 10 * time.Second}
		old := f.take(ctx, g, "n1", "s", long)
		start, err := f.Store.Begin(ctx, old, slot)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(f.Store.Release(ctx, []lease.Release{{Grant: old, Forced: true}})[0]).To(Succeed())
		g.Expect(f.raw(ctx, g, "EXISTS", f.Keys.Lease("s"))).To(Equal(int64(0)))
		g.Expect(f.Store.Release(ctx, []lease.Release{{Grant: old, Forced: true}})[0]).To(MatchError(lease.ErrLost))
		f.Sleep(slot.Interval + time.Millisecond) // due, were there no poll in flight

		next := f.take(ctx, g, "n2", "s", long)
		g.Expect(next.Token).To(Equal(old.Token + 1))
		wait, err := f.Store.Begin(ctx, next, slot)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(wait.Wait).To(BeNumerically(">", slot.Bound/2))
		_, err = f.Store.Begin(ctx, old, slot)
		g.Expect(err).To(MatchError(lease.ErrLost))
		g.Expect(f.Store.Finish(ctx, old, lease.Result{OK: true, Started: start.At})).To(MatchError(lease.ErrLost))
		began, err := f.Store.Begin(ctx, next, slot)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(began.Wait).To(BeZero())
	})
}

func lookSpecs(run Runner) {
	it(run, "says who holds what, for how long, and what is free, foreign or without expiry", func(ctx context.Context, g Gomega, f *Fixture) {
		f.take(ctx, g, "n1", "held", long)
		f.take(ctx, g, "n1", "over", short)
		f.take(ctx, g, "n2", "kept", long)
		f.raw(ctx, g, "PERSIST", f.Keys.Lease("kept"))
		f.raw(ctx, g, "RPUSH", f.Keys.Lease("list"), "x")
		f.Sleep(short + 2*time.Millisecond)
		got := f.Store.Look(ctx, []string{"held", "free", "over", "kept", "list"})
		g.Expect(got[0].Holder).To(Equal("n1"))
		g.Expect(got[0].Remaining).To(BeNumerically("~", long, time.Second))
		g.Expect(got[1]).To(Equal(lease.Status{Session: "free"}))
		g.Expect(got[2]).To(Equal(lease.Status{Session: "over"}))
		g.Expect(got[3]).To(Equal(lease.Status{Session: "kept", Holder: "n2", Remaining: lease.NoExpiry}))
		g.Expect(got[4].Err).To(MatchError(lease.ErrForeign))
		g.Expect(f.Store.Look(ctx, nil)).To(BeEmpty())
	})
}
