package leasetest

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	. "github.com/onsi/gomega" //nolint:revive,staticcheck // specs read as sentences

	"leasehold/lease"
)

func beginSpecs(run Runner) {
	slot := lease.Slot{Interval: short, Bound: 10 * time.Second}

	it(run, "starts a first poll at once, at the server's time", func(ctx context.Context, g Gomega, f *Fixture) {
		grant := f.take(ctx, g, "n1", "s", long)
		start, err := f.Store.Begin(ctx, grant, slot)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(start.Wait).To(BeZero())
		g.Expect(start.Due).To(BeZero())
		g.Expect(start.Failures).To(BeZero())
		g.Expect(start.At).To(BeTemporally("~", time.Now(), time.Second))
		g.Expect(f.number(ctx, g, "busy")).To(Equal(int64(grant.Token)))
		g.Expect(f.number(ctx, g, "busy_until")).To(Equal(start.At.Add(slot.Bound).UnixMilli()))
	})

	it(run, "begins an attempt that is repeated anew, with its slot and its sequence", func(ctx context.Context, g Gomega, f *Fixture) {
		grant := f.take(ctx, g, "n1", "s", long)
		named := slot
		named.Attempt = 7
		for range 2 { // a first poll, and one with a slot
			start, err := f.Store.Begin(ctx, grant, named)
			g.Expect(err).NotTo(HaveOccurred())
			f.Sleep(5 * time.Millisecond)
			again, err := f.Store.Begin(ctx, grant, named)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(again.At).To(BeTemporally(">", start.At))
			g.Expect(again.Due).To(Equal(start.Due))
			g.Expect(again.Sequence).To(Equal(start.Sequence))
			g.Expect(f.number(ctx, g, "busy_until")).To(Equal(again.At.Add(slot.Bound).UnixMilli()), "it may last as long from now")
			due := again.At.Add(slot.Interval)
			g.Expect(f.Store.Finish(ctx, grant, lease.Result{OK: true, Started: again.At, NextDue: due})).To(Succeed())
			named.Attempt++
			f.Sleep(slot.Interval + time.Millisecond)
		}
	})

	it(run, "does not take another attempt for a repetition, though the same holder finds its lease again", func(ctx context.Context, g Gomega, f *Fixture) {
		for _, keep := range []bool{false, true} {
			id := fmt.Sprint("s", keep)
			grant := f.take(ctx, g, "n1", id, long)
			named := slot
			named.Attempt, named.Keep = 7, keep
			start, err := f.Store.Begin(ctx, grant, named)
			g.Expect(err).NotTo(HaveOccurred())
			f.Sleep(5 * time.Millisecond)
			g.Expect(f.take(ctx, g, "n1", id, long)).To(Equal(grant))
			named.Attempt = 1000
			other, err := f.Store.Begin(ctx, grant, named)
			g.Expect(err).NotTo(HaveOccurred())
			if !keep {
				g.Expect(other.Wait).To(BeNumerically("~", slot.Interval, slot.Interval-time.Millisecond), "the slot was served")
				continue
			}
			g.Expect(other.At).To(BeTemporally(">", start.At), "the slot stays due")
			g.Expect(other.Sequence).To(Equal(start.Sequence + 1))
		}
	})

	it(run, "begins nothing by a question that was held up until a later one had its answer", func(ctx context.Context, g Gomega, f *Fixture) {
		for _, keep := range []bool{false, true} {
			id := fmt.Sprint("s", keep)
			grant := f.take(ctx, g, "n1", id, long)
			late, answered, next := slot, slot, slot
			late.Attempt, answered.Attempt, next.Attempt = 7, 7, 9
			late.Question, answered.Question, next.Question = 7, 8, 9
			late.Keep, answered.Keep, next.Keep = keep, keep, keep
			start, err := f.Store.Begin(ctx, grant, answered)
			g.Expect(err).NotTo(HaveOccurred())
			f.Sleep(5 * time.Millisecond)
			arrives := func() {
				begun, err := f.Store.Begin(ctx, grant, late)
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(begun.Wait).To(BeNumerically(">", 0))
			}
			arrives()
			due := start.At.Add(slot.Interval)
			g.Expect(f.Store.Finish(ctx, grant, lease.Result{OK: true, Started: start.At, NextDue: due})).To(Succeed())
			g.Expect(f.Store.Inspect(ctx, []string{id})[0].Last).NotTo(BeNil(), "the poll in flight is still the one that was begun")
			f.Sleep(slot.Interval + time.Millisecond)
			arrives()
			begun, err := f.Store.Begin(ctx, grant, next)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(begun.Due).To(Equal(due.Truncate(time.Millisecond)), "the slot was left to it")
			arrives()

			g.Expect(f.Store.Finish(ctx, grant, lease.Result{OK: true, Started: begun.At, NextDue: begun.At})).To(Succeed())
			g.Expect(f.release(ctx, grant)).To(Succeed())
			grant = f.take(ctx, g, "n2", id, long)
			other, err := f.Store.Begin(ctx, grant, late)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(other.At.IsZero()).To(BeFalse(), "others count for themselves")
		}
	})

	it(run, "numbers the starts, whoever polls, and never falls back when the state is lost", func(ctx context.Context, g Gomega, f *Fixture) {
		begin := func(holder string) int64 {
			grant := f.take(ctx, g, holder, "s", long)
			start, err := f.Store.Begin(ctx, grant, slot)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(start.Wait).To(BeZero())
			g.Expect(f.Store.Finish(ctx, grant, lease.Result{OK: true, Started: start.At, NextDue: start.At.Add(slot.Interval)})).To(Succeed())
			g.Expect(f.release(ctx, grant)).To(Succeed())
			f.Sleep(slot.Interval + time.Millisecond)
			return start.Sequence
		}
		first := begin("n1")
		g.Expect(first).To(BeNumerically(">", 0))
		g.Expect(begin("n1")).To(Equal(first + 1))
		g.Expect(begin("n2")).To(Equal(first + 2))
		f.raw(ctx, g, "DEL", f.Keys.State("s"))
		g.Expect(begin("n2")).To(BeNumerically(">", first+2))
	})

	it(run, "has the next attempt wait for the next slot, also when the end of the one before was not recorded", func(ctx context.Context, g Gomega, f *Fixture) {
		grant := f.take(ctx, g, "n1", "s", long)
		named := slot
		named.Attempt = 1
		start, err := f.Store.Begin(ctx, grant, named)
		g.Expect(err).NotTo(HaveOccurred())
		named.Attempt++
		again, err := f.Store.Begin(ctx, grant, named)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(again.Wait).To(BeNumerically(">", 0))
		g.Expect(again.At.IsZero()).To(BeTrue())
		f.Sleep(slot.Interval)
		next, err := f.Store.Begin(ctx, grant, named)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(next.Wait).To(BeZero())
		g.Expect(next.At).To(BeTemporally(">", start.At))
	})

	it(run, "waits for the slot, then serves it, counted from start to start", func(ctx context.Context, g Gomega, f *Fixture) {
		grant := f.take(ctx, g, "n1", "s", long)
		first, err := f.Store.Begin(ctx, grant, slot)
		g.Expect(err).NotTo(HaveOccurred())
		due := first.At.Add(slot.Interval)
		g.Expect(f.Store.Finish(ctx, grant, lease.Result{OK: true, Started: first.At, NextDue: due})).To(Succeed())
		early, err := f.Store.Begin(ctx, grant, slot)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(early.Wait).To(BeNumerically(">", 0))
		g.Expect(early.Wait).To(BeNumerically("<=", slot.Interval))
		f.Sleep(slot.Interval)
		second, err := f.Store.Begin(ctx, grant, slot)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(second.Wait).To(BeZero())
		g.Expect(second.Due).To(Equal(due.Truncate(time.Millisecond)))
	})

	it(run, "keeps a successor from polling while the predecessor's poll may be in flight", func(ctx context.Context, g Gomega, f *Fixture) {
		old := f.take(ctx, g, "n1", "s", long)
		begun, err := f.Store.Begin(ctx, old, slot)
		g.Expect(err).NotTo(HaveOccurred())
		f.raw(ctx, g, "DEL", f.Keys.Lease("s"))
		now := f.take(ctx, g, "n2", "s", long)
		f.Sleep(2 * slot.Interval)
		start, err := f.Store.Begin(ctx, now, slot)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(start.Wait).To(BeNumerically("~", slot.Bound-2*slot.Interval, time.Second))
		// The old poll has ended: its result is refused, and nobody waits for it.
		g.Expect(f.Store.Finish(ctx, old, lease.Result{Started: begun.At, OK: true})).To(MatchError(lease.ErrLost))
		start, err = f.Store.Begin(ctx, now, slot)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(start.Wait).To(BeZero())
	})

	it(run, "waits for a vanished poll no longer than its bound or its lease", func(ctx context.Context, g Gomega, f *Fixture) {
		old := f.take(ctx, g, "n1", "s", short)
		_, err := f.Store.Begin(ctx, old, lease.Slot{Interval: short / 3, Bound: long})
		g.Expect(err).NotTo(HaveOccurred())
		f.Sleep(short + 2*time.Millisecond)
		now := f.take(ctx, g, "n2", "s", long)
		start, err := f.Store.Begin(ctx, now, lease.Slot{Interval: short / 3, Bound: long})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(start.Wait).To(BeZero())
	})

	it(run, "gives a slot to one token only", func(ctx context.Context, g Gomega, f *Fixture) {
		wide := lease.Slot{Interval: 10 * time.Second, Bound: time.Second}
		old := f.take(ctx, g, "n1", "s", long)
		_, err := f.Store.Begin(ctx, old, wide)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(f.release(ctx, old)).To(Succeed())
		now := f.take(ctx, g, "n2", "s", long)
		start, err := f.Store.Begin(ctx, now, wide)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(start.Wait).To(BeNumerically("~", wide.Interval, time.Second))
	})

	it(run, "counts the next slot from a start that is late, and from the slot of one in time", func(ctx context.Context, g Gomega, f *Fixture) {
		for late, from := range map[time.Duration]time.Duration{3 * time.Second: 3 * time.Second, 100 * time.Millisecond: 0} {
			id := "late by " + late.String()
			grant := f.take(ctx, g, "n1", id, long)
			slot := time.Now().Add(-late)
			f.raw(ctx, g, "HSET", f.Keys.State(id), "due", slot.UnixMilli(), "interval", 10_000)
			start, err := f.Store.Begin(ctx, grant, lease.Slot{Interval: 10 * time.Second, Bound: time.Second})
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(start.Wait).To(BeZero())
			following := time.UnixMilli(f.raw(ctx, g, "EVAL", "return tonumber(redis.call('HGET', KEYS[1], 'due'))", 1, f.Keys.State(id)).(int64))
			g.Expect(following).To(BeTemporally("~", slot.Add(from+10*time.Second), time.Second))
		}
	})

	it(run, "counts an edited interval from the last start", func(ctx context.Context, g Gomega, f *Fixture) {
		grant := f.take(ctx, g, "n1", "s", long)
		first, err := f.Store.Begin(ctx, grant, lease.Slot{Interval: time.Hour, Bound: time.Second})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(f.Store.Finish(ctx, grant, lease.Result{OK: true, Started: first.At, NextDue: first.At.Add(time.Hour)})).To(Succeed())
		start, err := f.Store.Begin(ctx, grant, lease.Slot{Interval: short, Bound: time.Second})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(start.Wait).To(BeNumerically("<=", short))
		f.Sleep(short)
		start, err = f.Store.Begin(ctx, grant, lease.Slot{Interval: short, Bound: time.Second})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(start.Wait).To(BeZero())
		g.Expect(start.Due).To(Equal(first.At.Add(short)))
	})

	it(run, "waits at most an interval for a due time that a wrong clock wrote", func(ctx context.Context, g Gomega, f *Fixture) {
		grant := f.take(ctx, g, "n1", "s", long)
		f.raw(ctx, g, "HSET", f.Keys.State("s"), "due", time.Now().Add(time.Hour).UnixMilli(), "retry_at", time.Now().Add(time.Hour).UnixMilli())
		start, err := f.Store.Begin(ctx, grant, slot)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(start.Wait).To(BeNumerically("<=", slot.Interval))
		f.Sleep(slot.Interval + time.Millisecond)
		start, err = f.Store.Begin(ctx, grant, slot)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(start.Wait).To(BeZero())
	})

	it(run, "waits no longer for a poll that a wrong clock began than it could last", func(ctx context.Context, g Gomega, f *Fixture) {
		old := f.take(ctx, g, "n1", "s", long)
		_, err := f.Store.Begin(ctx, old, slot)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(f.release(ctx, old)).To(Succeed())
		now := f.take(ctx, g, "n2", "s", long)
		begun := time.Now().Add(time.Hour)
		f.raw(ctx, g, "HSET", f.Keys.State("s"), "busy", int64(old.Token), "last", begun.UnixMilli(),
			"busy_max", begun.Add(short).UnixMilli(), "busy_until", begun.Add(short).UnixMilli())
		for range 2 {
			start, err := f.Store.Begin(ctx, now, slot)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(start.Wait).To(And(BeNumerically(">", 0), BeNumerically("<=", short)))
			f.Sleep(short / 2)
		}
		f.Sleep(short / 2)
		start, err := f.Store.Begin(ctx, now, slot)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(start.Wait).To(BeZero(), "that poll is over")
	})

	it(run, "takes a lease without expiry for one that outlives the poll", func(ctx context.Context, g Gomega, f *Fixture) {
		grant := f.take(ctx, g, "n1", "s", long)
		f.raw(ctx, g, "PERSIST", f.Keys.Lease("s"))
		start, err := f.Store.Begin(ctx, grant, slot)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(f.number(ctx, g, "busy_until")).To(Equal(start.At.Add(slot.Bound).UnixMilli()))
	})

	it(run, "refuses a lost lease, another's, an old token, and reports foreign types", func(ctx context.Context, g Gomega, f *Fixture) {
		old := f.take(ctx, g, "n1", "s", long)
		f.raw(ctx, g, "DEL", f.Keys.Lease("s"))
		_, err := f.Store.Begin(ctx, old, slot)
		g.Expect(err).To(MatchError(lease.ErrLost))
		now := f.take(ctx, g, "n1", "s", long)
		_, err = f.Store.Begin(ctx, old, slot)
		g.Expect(err).To(MatchError(lease.ErrLost))
		_, err = f.Store.Begin(ctx, lease.Grant{Session: "s", Holder: "n2", Token: now.Token}, slot)
		g.Expect(err).To(MatchError(lease.ErrLost))
		g.Expect(f.field(ctx, g, "busy")).To(BeNil())
		f.raw(ctx, g, "RPUSH", f.Keys.Lease("t"), "x")
		_, err = f.Store.Begin(ctx, lease.Grant{Session: "t", Holder: "n1"}, slot)
		g.Expect(err).To(MatchError(lease.ErrForeign))
	})

	it(run, "lets no two polls of one session start, however often the lease changes hands", func(ctx context.Context, g Gomega, f *Fixture) {
		var flying, worst atomic.Int32
		var wg sync.WaitGroup
		for i := range 6 {
			wg.Go(func() {
				holder := fmt.Sprintf("n%d", i)
				for range 15 {
					o := f.claim(ctx, holder, "s", long)
					grant := lease.Grant{Session: "s", Holder: holder, Token: o.Token}
					start, err := f.Store.Begin(ctx, grant, lease.Slot{Interval: time.Millisecond, Bound: long})
					if err == nil && start.Wait == 0 && !start.At.IsZero() {
						worst.Store(max(worst.Load(), flying.Add(1)))
						f.Sleep(2 * time.Millisecond)
						flying.Add(-1)
						_ = f.Store.Finish(ctx, grant, lease.Result{OK: true, Started: start.At, NextDue: start.At.Add(time.Millisecond)})
					}
					_, _ = f.Do(ctx, "DEL", f.Keys.Lease("s"))
				}
			})
		}
		wg.Wait()
		g.Expect(worst.Load()).To(Equal(int32(1)))
	})
}

func finishSpecs(run Runner) {
	slot := lease.Slot{Interval: 10 * time.Second, Bound: 5 * time.Second}

	it(run, "records the result, the rhythm and one entry of the stream", func(ctx context.Context, g Gomega, f *Fixture) {
		grant := f.take(ctx, g, "n1", "s", long)
		start, err := f.Store.Begin(ctx, grant, slot)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(f.Store.Finish(ctx, grant, lease.Result{
			OK: true, Class: "success", Status: 200, Bytes: 1234, Started: start.At,
			Duration: 42 * time.Millisecond, NextDue: start.At.Add(10 * time.Second), Event: []byte(`{"an":"event"}`),
		})).To(Succeed())
		g.Expect(f.field(ctx, g, "busy")).To(BeNil())
		for field, want := range map[string]string{
			"ok": "1", "class": "success", "status": "200", "bytes": "1234", "duration_ms": "42",
			"failures": "0", "due": millis(start.At.Add(10 * time.Second)), "interval": "10000",
			"started": millis(start.At), "last": millis(start.At), "error": "",
		} {
			g.Expect(f.field(ctx, g, field)).To(Equal(want), field)
		}
		entries := f.raw(ctx, g, "XRANGE", f.Stream, "-", "+").([]any)
		g.Expect(entries).To(HaveLen(1))
		g.Expect(entries[0].([]any)[1]).To(Equal([]any{
			"session", "s", "token", fmt.Sprint(grant.Token), "event", `{"an":"event"}`,
		}))
	})

	// A fail-over loses the newest writes.
	it(run, "records the result of a start that the server forgot, once", func(ctx context.Context, g Gomega, f *Fixture) {
		for _, marked := range []bool{false, true} {
			grant := f.take(ctx, g, "n1", "s", long)
			start, err := f.Store.Begin(ctx, grant, slot)
			g.Expect(err).NotTo(HaveOccurred())
			f.raw(ctx, g, "HDEL", f.Keys.State("s"), "busy", "busy_until", "busy_max", "due", "last", "slot", "ok")
			if marked {
				v := f.Store.Renew(ctx, []lease.Renewal{{Grant: grant, TTL: long, Busy: slot.Bound}})
				g.Expect(v[0].Err).NotTo(HaveOccurred())
			}
			r := lease.Result{OK: true, Started: start.At, NextDue: start.At.Add(slot.Interval), Event: []byte(`{}`)}
			g.Expect(f.Store.Finish(ctx, grant, r)).To(Succeed())
			g.Expect(f.field(ctx, g, "ok")).To(Equal("1"))
			g.Expect(f.field(ctx, g, "busy")).To(BeNil())
			g.Expect(f.field(ctx, g, "last")).To(Equal(millis(start.At)))
			g.Expect(f.field(ctx, g, "due")).To(Equal(millis(r.NextDue)))
			entries := f.raw(ctx, g, "XLEN", f.Stream)
			g.Expect(f.Store.Finish(ctx, grant, r)).To(Succeed(), "the reply was lost")
			if !f.Apart {
				g.Expect(f.raw(ctx, g, "XLEN", f.Stream)).To(Equal(entries))
			}
			g.Expect(f.forget(ctx, grant)).To(Succeed())
		}
	})

	it(run, "keeps failures and the retry's time for the fleet", func(ctx context.Context, g Gomega, f *Fixture) {
		grant := f.take(ctx, g, "n1", "s", long)
		start, err := f.Store.Begin(ctx, grant, slot)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(f.Store.Finish(ctx, grant, lease.Result{
			Class: "timeout", Error: "no answer", Started: start.At, NextDue: start.At, RetryAt: start.At.Add(short), Failures: 3,
		})).To(Succeed())
		g.Expect(f.release(ctx, grant)).To(Succeed())
		o := f.claim(ctx, "n2", "s", long)
		g.Expect(o.Wait).To(BeNumerically("~", short, short))
		g.Expect(o.Failing).To(BeTrue())
		now := lease.Grant{Session: "s", Holder: "n2", Token: o.Token}
		early, err := f.Store.Begin(ctx, now, slot)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(early.Wait).To(BeNumerically("~", short, short-time.Millisecond), "the slot is due, the retry is not")
		f.Sleep(short)
		again, err := f.Store.Begin(ctx, now, slot)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(again.Wait).To(BeZero())
		g.Expect(again.Failures).To(Equal(3))
		g.Expect(again.Due).To(Equal(start.At))
		g.Expect(f.Store.Finish(ctx, now, lease.Result{OK: true, Started: again.At, NextDue: again.At.Add(time.Second)})).To(Succeed())
		g.Expect(f.field(ctx, g, "retry_at")).To(BeNil())
		g.Expect(f.release(ctx, now)).To(Succeed())
		g.Expect(f.claim(ctx, "n3", "s", long).Failing).To(BeFalse())
	})

	it(run, "refuses an old token and changes nothing but that poll's own mark", func(ctx context.Context, g Gomega, f *Fixture) {
		old := f.take(ctx, g, "n1", "s", long)
		g.Expect(f.release(ctx, old)).To(Succeed())
		now := f.take(ctx, g, "n1", "s", long)
		begun, err := f.Store.Begin(ctx, now, slot)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(f.Store.Finish(ctx, old, lease.Result{Started: begun.At, OK: true, Class: "old"})).To(MatchError(lease.ErrLost))
		g.Expect(f.number(ctx, g, "busy")).To(Equal(int64(now.Token)))
		g.Expect(f.field(ctx, g, "class")).To(BeNil())
		g.Expect(f.raw(ctx, g, "EXISTS", f.Stream)).To(Equal(int64(0)))
	})

	it(run, "changes nothing when it is repeated, or comes after the next poll began", func(ctx context.Context, g Gomega, f *Fixture) {
		grant := f.take(ctx, g, "n1", "s", long)
		first, err := f.Store.Begin(ctx, grant, slot)
		g.Expect(err).NotTo(HaveOccurred())
		result := lease.Result{OK: true, Class: "success", Started: first.At, NextDue: first.At.Add(slot.Interval)}
		entries := func(apart int64) {
			want := int64(1)
			if f.Apart {
				want = apart
			}
			g.Expect(f.raw(ctx, g, "XLEN", f.Stream)).To(Equal(want))
		}
		g.Expect(f.Store.Finish(ctx, grant, result)).To(Succeed())
		entries(1)
		g.Expect(f.Store.Finish(ctx, grant, result)).To(Succeed())
		entries(2)

		f.Sleep(slot.Interval + time.Millisecond)
		second, err := f.Store.Begin(ctx, grant, slot)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(second.Wait).To(BeZero())
		g.Expect(f.Store.Finish(ctx, grant, result)).To(Succeed())
		g.Expect(f.number(ctx, g, "busy")).To(Equal(int64(grant.Token)), "the second poll is still in flight")
		entries(3)
	})

	it(run, "refuses when the lease ran out, though nobody else took it", func(ctx context.Context, g Gomega, f *Fixture) {
		grant := f.take(ctx, g, "n1", "s", short)
		begun, err := f.Store.Begin(ctx, grant, slot)
		g.Expect(err).NotTo(HaveOccurred())
		f.Sleep(short + 2*time.Millisecond)
		g.Expect(f.Store.Finish(ctx, grant, lease.Result{Started: begun.At, OK: true, Class: "late"})).To(MatchError(lease.ErrLost))
		g.Expect(f.field(ctx, g, "busy")).To(BeNil())
		g.Expect(f.field(ctx, g, "class")).To(BeNil())
	})

	it(run, "records the result where the stream's key is foreign, and reports that", func(ctx context.Context, g Gomega, f *Fixture) {
		f.raw(ctx, g, "SET", f.Stream, "mine")
		grant := f.take(ctx, g, "n1", "s", long)
		begun, err := f.Store.Begin(ctx, grant, slot)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(f.Store.Finish(ctx, grant, lease.Result{Started: begun.At, OK: true, Class: "success"})).To(Succeed())
		g.Expect(f.field(ctx, g, "class")).To(Equal("success"))
		g.Expect(f.raw(ctx, g, "GET", f.Stream)).To(Equal("mine"))
		g.Expect(f.Foreign()).To(ContainElement(f.Stream))
	})

	it(run, "reports foreign types", func(ctx context.Context, g Gomega, f *Fixture) {
		f.raw(ctx, g, "SET", f.Keys.State("s"), "x")
		g.Expect(f.Store.Finish(ctx, lease.Grant{Session: "s", Holder: "n1"}, lease.Result{})).To(MatchError(lease.ErrForeign))
	})

	it(run, "keeps an error's text short and valid", func(ctx context.Context, g Gomega, f *Fixture) {
		grant := f.take(ctx, g, "n1", "s", long)
		begun, err := f.Store.Begin(ctx, grant, slot)
		g.Expect(err).NotTo(HaveOccurred())
		text := strings.Repeat("é", 2000)
		g.Expect(f.Store.Finish(ctx, grant, lease.Result{Started: begun.At, Error: "x" + text})).To(Succeed())
		kept := f.field(ctx, g, "error").(string)
		g.Expect(len(kept)).To(BeNumerically("<=", 600))
		g.Expect(kept).To(HavePrefix("xéé"))
	})
}

// millis is a time as the store keeps it.
func millis(t time.Time) string { return strconv.FormatInt(t.UnixMilli(), 10) }
