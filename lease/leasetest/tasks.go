package leasetest

import (
	"context"
	"time"

	. "github.com/onsi/gomega" //nolint:revive,staticcheck // specs read as sentences

	"leasehold/lease"
)

// taskSpecs are about sessions whose slot stays due until a run was recorded.
func taskSpecs(run Runner) {
	slot := lease.Slot{Interval: 10 * time.Second, Bound: long, Keep: true}
	begin := func(ctx context.Context, g Gomega, f *Fixture, grant lease.Grant, slot lease.Slot) lease.Start {
		start, err := f.Store.Begin(ctx, grant, slot)
		g.Expect(err).NotTo(HaveOccurred())
		return start
	}

	it(run, "are run again by the next owner when a run ended with its node, after its lease", func(ctx context.Context, g Gomega, f *Fixture) {
		old := f.take(ctx, g, "n1", "s", short)
		first := begin(ctx, g, f, old, slot)
		g.Expect(first.Wait).To(BeZero())
		f.Sleep(short + 2*time.Millisecond)
		o := f.claim(ctx, "n2", "s", long)
		g.Expect(o.Granted).To(BeTrue())
		g.Expect(o.Wait).To(BeZero())
		second := begin(ctx, g, f, lease.Grant{Session: "s", Holder: "n2", Token: o.Token}, slot)
		g.Expect(second.Wait).To(BeZero())
		g.Expect(second.Sequence).To(Equal(first.Sequence + 1))
		g.Expect(second.Due).To(Equal(first.At), "the slot of the run that died")
	})

	it(run, "are never run by two: a run that may be in flight is waited for", func(ctx context.Context, g Gomega, f *Fixture) {
		begin(ctx, g, f, f.take(ctx, g, "n1", "s", long), slot)
		f.raw(ctx, g, "DEL", f.Keys.Lease("s"))
		now := f.take(ctx, g, "n2", "s", long)
		g.Expect(begin(ctx, g, f, now, slot).Wait).To(BeNumerically("~", slot.Bound, time.Second))
	})

	it(run, "are not run again once a run was recorded", func(ctx context.Context, g Gomega, f *Fixture) {
		grant := f.take(ctx, g, "n1", "s", long)
		start := begin(ctx, g, f, grant, slot)
		g.Expect(f.Store.Finish(ctx, grant, lease.Result{OK: true, Started: start.At, NextDue: start.At.Add(slot.Interval)})).To(Succeed())
		g.Expect(f.release(ctx, grant)).To(Succeed())
		now := f.take(ctx, g, "n2", "s", long)
		g.Expect(begin(ctx, g, f, now, slot).Wait).To(BeNumerically("~", slot.Interval, time.Second))
	})

	it(run, "wait for the first slot of their calendar, and for that of another one", func(ctx context.Context, g Gomega, f *Fixture) {
		grant := f.take(ctx, g, "n1", "s", long)
		by := slot
		by.Plan, by.Next = "*/5 * * * * UTC", time.Now().Add(time.Hour).Truncate(time.Millisecond)
		g.Expect(begin(ctx, g, f, grant, by).Wait).To(BeNumerically("~", time.Hour, time.Second))
		again := by
		again.Next = by.Next.Add(time.Hour)
		g.Expect(begin(ctx, g, f, grant, again).Wait).To(BeNumerically("~", time.Hour, time.Second), "it is the first slot still")
		again.Plan, again.Next = "another", time.Now().Add(short)
		g.Expect(begin(ctx, g, f, grant, again).Wait).To(BeNumerically("~", short, short))
		f.Sleep(short + time.Millisecond)
		g.Expect(begin(ctx, g, f, grant, again).Due).To(BeTemporally("~", again.Next, time.Millisecond))
	})

	it(run, "serve a slot that was missed, however late, or skip it where they say so", func(ctx context.Context, g Gomega, f *Fixture) {
		grant := f.take(ctx, g, "n1", "s", long)
		missed := time.Now().Add(-25 * time.Second).Truncate(time.Millisecond)
		set := func(fields ...any) {
			f.raw(ctx, g, "DEL", f.Keys.State("s"))
			f.raw(ctx, g, append([]any{"HSET", f.Keys.State("s"), "version", int64(grant.Token), "due", missed.UnixMilli(), "interval", 10_000}, fields...)...)
		}
		set()
		g.Expect(begin(ctx, g, f, grant, slot).Due).To(Equal(missed))
		skip := slot
		skip.Grace = 20 * time.Second
		set()
		g.Expect(begin(ctx, g, f, grant, skip).Wait).To(BeNumerically("~", 5*time.Second, time.Second), "the grid goes on")
		skip.Grace = 30 * time.Second
		set()
		g.Expect(begin(ctx, g, f, grant, skip).Due).To(Equal(missed), "that is in time")
		skip.Grace = 20 * time.Second
		set("failures", 1)
		g.Expect(begin(ctx, g, f, grant, skip).Due).To(Equal(missed), "it was begun in time, and failed")
		set("busy", "1", "busy_until", 1)
		g.Expect(begin(ctx, g, f, grant, skip).Due).To(Equal(missed), "its run died")
	})

	it(run, "are begun when they are asked for, once, and keep their slots", func(ctx context.Context, g Gomega, f *Fixture) {
		g.Expect(f.Store.Ask(ctx, "s")).To(Succeed(), "nobody had it yet")
		grant := f.take(ctx, g, "n1", "s", long)
		by := slot
		by.Plan, by.Next = "daily", time.Now().Add(time.Hour).Truncate(time.Millisecond)
		run := func() lease.Start {
			start := begin(ctx, g, f, grant, by)
			if start.Wait == 0 {
				r := lease.Result{OK: true, Started: start.At, NextDue: by.Next}
				g.Expect(f.Store.Finish(ctx, grant, r)).To(Succeed())
			}
			return start
		}
		first := run()
		g.Expect(first.Wait).To(BeZero())
		g.Expect(first.Due).To(BeTemporally("~", first.At, time.Second))
		g.Expect(run().Wait).To(BeNumerically("~", time.Hour, time.Second))
		g.Expect(f.Store.Ask(ctx, "s")).To(Succeed())
		g.Expect(f.Store.Ask(ctx, "s")).To(Succeed())
		g.Expect(run().Wait).To(BeZero())
		g.Expect(run().Wait).To(BeNumerically("~", time.Hour, time.Second))
	})

	it(run, "are not asked for where a key is foreign", func(ctx context.Context, g Gomega, f *Fixture) {
		f.raw(ctx, g, "SET", f.Keys.State("s"), "x")
		g.Expect(f.Store.Ask(ctx, "s")).To(MatchError(lease.ErrForeign))
	})
}
