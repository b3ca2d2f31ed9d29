package leasetest

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/gomega" //nolint:revive,staticcheck // specs read as sentences

	"leasehold/lease"
	"leasehold/session"
)

func readSpecs(run Runner) {
	it(run, "tells holder, token and remaining time together", func(ctx context.Context, g Gomega, f *Fixture) {
		held := f.take(ctx, g, "n1", "held", long)
		over := f.take(ctx, g, "n1", "over", short)
		kept := f.take(ctx, g, "w 1", "kept", long)
		given := f.take(ctx, g, "n1", "given", long)
		g.Expect(f.release(ctx, given)).To(Succeed())
		f.raw(ctx, g, "PERSIST", f.Keys.Lease("kept"))
		f.raw(ctx, g, "RPUSH", f.Keys.Lease("list"), "x")
		f.raw(ctx, g, "SET", f.Keys.State("text"), "x")
		f.Sleep(short + 2*time.Millisecond)
		got := f.Store.Read(ctx, []string{"held", "free", "over", "kept", "given", "list", "text"})
		g.Expect(got[0].Holder).To(Equal("n1"))
		g.Expect(got[0].Token).To(Equal(held.Token))
		g.Expect(got[0].Remaining).To(And(BeNumerically("<=", long), BeNumerically(">", long/2)))
		g.Expect(got[1]).To(Equal(lease.Record{Session: "free"}))
		g.Expect(got[2]).To(Equal(lease.Record{Session: "over", Token: over.Token}))
		g.Expect(got[3]).To(Equal(lease.Record{Session: "kept", Holder: "w 1", Token: kept.Token, Remaining: lease.NoExpiry}))
		g.Expect(got[4]).To(Equal(lease.Record{Session: "given", Token: given.Token}))
		g.Expect(got[5].Err).To(MatchError(lease.ErrForeign))
		g.Expect(got[6].Err).To(MatchError(lease.ErrForeign))
		g.Expect(f.Store.Read(ctx, nil)).To(BeEmpty())
	})

	it(run, "tells since when a lease is held, renewals or not", func(ctx context.Context, g Gomega, f *Fixture) {
		since := func() time.Time {
			in := f.Store.Inspect(ctx, []string{"s"})[0]
			g.Expect(in.Err).NotTo(HaveOccurred())
			return in.Since
		}
		g.Expect(since()).To(BeZero())
		first := f.take(ctx, g, "n1", "s", long)
		began := since()
		g.Expect(began).To(BeTemporally("~", time.Now(), time.Second))
		f.Sleep(10 * time.Millisecond)
		f.take(ctx, g, "n1", "s", long)
		g.Expect(f.renew(ctx, first, long).Err).NotTo(HaveOccurred())
		g.Expect(since()).To(Equal(began))
		g.Expect(f.release(ctx, first)).To(Succeed())
		g.Expect(since()).To(BeZero())
		f.take(ctx, g, "n2", "s", long)
		g.Expect(since()).To(BeTemporally(">=", began.Add(10*time.Millisecond)))
	})

	it(run, "tells how the last poll ended and when the next is due, for people", func(ctx context.Context, g Gomega, f *Fixture) {
		grant := f.take(ctx, g, "n1", "s", long)
		before := f.Store.Inspect(ctx, []string{"s"})[0]
		g.Expect(before.Token).To(Equal(grant.Token))
		g.Expect(before.Next).To(BeZero())
		g.Expect(before.Last).To(BeNil())
		start, err := f.Store.Begin(ctx, grant, lease.Slot{Interval: time.Minute, Bound: time.Second})
		g.Expect(err).NotTo(HaveOccurred())
		ms := func(d time.Duration) time.Time { return start.At.Add(d).Truncate(time.Millisecond) }
		g.Expect(f.Store.Finish(ctx, grant, lease.Result{
			Class: "http_error", Error: "status 503", Status: 503, Bytes: 17, Started: start.At, Duration: 1500 * time.Millisecond,
			NextDue: ms(time.Second), RetryAt: ms(2 * time.Second), Failures: 3,
		})).To(Succeed())
		in := f.Store.Inspect(ctx, []string{"s"})[0]
		g.Expect(in.Err).NotTo(HaveOccurred())
		g.Expect(in.Next).To(BeTemporally("==", ms(2*time.Second)), "a retry waits for its time")
		g.Expect(in.Failures).To(Equal(3))
		g.Expect(in.Last.Started).To(BeTemporally("==", start.At))
		in.Last.Started = time.Time{}
		g.Expect(*in.Last).To(Equal(lease.Run{
			Duration: 1500 * time.Millisecond, Class: "http_error", Error: "status 503", Status: 503, Bytes: 17,
		}))
		f.raw(ctx, g, "SET", f.Keys.State("text"), "x")
		g.Expect(f.Store.Inspect(ctx, []string{"text"})[0].Err).To(MatchError(lease.ErrForeign))
		g.Expect(f.Store.Inspect(ctx, nil)).To(BeEmpty())
	})

	it(run, "writes nothing", func(ctx context.Context, g Gomega, f *Fixture) {
		f.Store.Read(ctx, oddIDs())
		for _, id := range oddIDs() {
			g.Expect(f.raw(ctx, g, "EXISTS", f.Keys.Lease(id))).To(BeZero(), id)
			g.Expect(f.raw(ctx, g, "EXISTS", f.Keys.State(id))).To(BeZero(), id)
		}
	})
}

// pageSize is small, so that a real server takes many steps.
const pageSize = 20

func pageSpecs(run Runner) {
	it(run, "goes through all documents step by step, and lists nothing else", func(ctx context.Context, g Gomega, f *Fixture) {
		want := map[string]bool{}
		for _, id := range oddIDs() {
			want[id] = true
		}
		for i := range 300 {
			want[fmt.Sprintf("many-%d", i)] = true
		}
		for id := range want {
			f.raw(ctx, g, "SET", f.Keys.Session(id), "{}")
		}
		f.raw(ctx, g, "SET", "unrelated", "x")
		f.take(ctx, g, "n1", "leased", long)
		got := map[string]bool{}
		cursor, steps := "", 0
		for {
			ids, next, err := f.Store.Page(ctx, cursor, pageSize)
			g.Expect(err).NotTo(HaveOccurred())
			for _, id := range ids {
				got[id] = true
			}
			if cursor, steps = next, steps+1; cursor == "" {
				break
			}
			g.Expect(steps).To(BeNumerically("<", 1000))
		}
		g.Expect(got).To(Equal(want))
	})

	it(run, "has nothing of an empty store, and takes no cursor that it did not give", func(ctx context.Context, g Gomega, f *Fixture) {
		for cursor, first := "", true; first || cursor != ""; first = false {
			ids, next, err := f.Store.Page(ctx, cursor, pageSize)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(ids).To(BeEmpty())
			cursor = next
		}
		for _, wrong := range []string{"x", "-1", "1 ", "18446744073709551616"} {
			_, _, err := f.Store.Page(ctx, wrong, pageSize)
			g.Expect(err).To(MatchError(session.ErrCursor), wrong)
		}
	})
}
