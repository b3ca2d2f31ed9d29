package poller_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"leasehold/actors/poller"
	"leasehold/internal/bubble"
	"leasehold/lease"
	"leasehold/schedule"
)

// What is counted is counted from events, so none may be missing.
var _ = Describe("the events of a poller", func() {
	It("tell what came of each attempt that was no poll", func() {
		run(func(g Gomega, b *bench) {
			b.stub.begin = func(lease.Slot) (lease.Start, error) {
				switch since := time.Since(b.began); {
				case since < time.Second:
					return lease.Start{Wait: time.Second}, nil
				case since < 2*time.Second:
					return lease.Start{}, errRedis
				default:
					return lease.Start{}, lease.ErrLost
				}
			}
			b.start(doc(), 0)
			bubble.Sleep(time.Minute)
			reasons := b.system.Events("poll.skipped")
			g.Expect(reasons).To(HaveLen(len(b.stub.see().begins)))
			g.Expect(reasons[0]).To(ContainSubstring(`"reason":"not_due"`))
			g.Expect(reasons[1]).To(ContainSubstring(`"reason":"unanswered"`))
			g.Expect(reasons[len(reasons)-1]).To(ContainSubstring(`"reason":"lost"`))
			g.Expect(b.system.Events("poll.started")).To(BeEmpty())
		})
	})

	It("tell of a lease that can not be used, for which Redis is not asked", func() {
		run(func(g Gomega, b *bench) {
			b.cell.Suspend()
			leave := occupy(b.deps.Gate, 10) // the attempt waits
			b.cell.Extend(time.Now().Add(time.Hour))
			b.start(doc(), 0)
			b.cell.Suspend()
			leave()
			bubble.Sleep(time.Second)
			g.Expect(b.system.Events("poll.skipped")).To(ConsistOf(ContainSubstring(`"reason":"unusable"`)))
			g.Expect(b.stub.see().begins).To(BeEmpty())
		})
	})

	It("tell how late a poll began, unless it is a first one or a retry", func() {
		run(func(g Gomega, b *bench) {
			starts := []lease.Start{{}, {Due: b.began.Add(-time.Second)}, {Due: b.began, Failures: 1}}
			b.stub.begin = func(lease.Slot) (lease.Start, error) {
				s := starts[0]
				s.At, starts = time.Now(), starts[1:]
				if !s.Due.IsZero() {
					s.Due = s.At.Add(-250 * time.Millisecond)
				}
				return s, nil
			}
			b.start(doc(), 0)
			bubble.Sleep(25 * time.Second)
			began := b.system.Events("poll.started")
			g.Expect(began).To(HaveLen(3))
			g.Expect(began[0]).NotTo(ContainSubstring("delay_ms"))
			g.Expect(began[1]).To(ContainSubstring(`"delay_ms":250`))
			g.Expect(began[2]).NotTo(ContainSubstring("delay_ms"))
		})
	})

	It("name the trace of the poll, which was told of its attempt and its delay", func() {
		run(func(g Gomega, b *bench) {
			traces := []poller.Outcome{
				{OK: true, Class: poller.Success, Trace: "0af7"},
				{Class: "timeout", Trace: "0af8"},
				{OK: true, Class: poller.Success},
			}
			b.stub.begin = func(lease.Slot) (lease.Start, error) {
				return lease.Start{At: time.Now(), Due: time.Now().Add(-250 * time.Millisecond)}, nil
			}
			b.stub.poll = func(context.Context) poller.Outcome {
				o := traces[0]
				if len(traces) > 1 {
					traces = traces[1:]
				}
				return o
			}
			b.start(doc(), 0)
			bubble.Sleep(25 * time.Second)
			g.Expect(b.system.Events("poll.succeeded")).To(ContainElement(ContainSubstring(`"trace_id":"0af7"`)))
			g.Expect(b.system.Events("poll.failed")).To(ConsistOf(ContainSubstring(`"trace_id":"0af8"`)))
			seen := b.stub.see()
			for i, job := range seen.jobs {
				g.Expect(job.Attempt).To(And(Equal(seen.slots[i].Attempt), BeNumerically(">", 0)))
				g.Expect(job.Delay).To(Equal(250 * time.Millisecond))
			}
		})
	})

	It("tell of the slots that nobody polled for", func() {
		cron, err := schedule.ParseCalendar("*/5 * * * *", "UTC")
		Expect(err).NotTo(HaveOccurred())
		noon := time.Date(2030, time.May, 1, 12, 0, 0, 0, time.UTC)
		for late, want := range map[time.Duration][2]string{ // with the interval of 10 s, and with the calendar
			0:                {`"delay_ms":0}`, `"delay_ms":0}`},
			9 * time.Second:  {`"delay_ms":9000}`, `"delay_ms":9000}`},
			25 * time.Second: {`"missed":2}`, `"delay_ms":25000}`},
			11 * time.Minute: {`"missed":66}`, `"missed":2}`},
		} {
			for i, calendar := range []*schedule.Calendar{nil, cron} {
				run(func(g Gomega, b *bench) {
					b.stub.begin = func(lease.Slot) (lease.Start, error) {
						return lease.Start{At: noon.Add(late), Due: noon}, nil
					}
					s := doc()
					s.Calendar = calendar
					b.start(s, 0)
					bubble.Sleep(time.Second)
					g.Expect(b.system.Events("poll.started")).To(ConsistOf(ContainSubstring(want[i])), "%s late", late)
				})
			}
		}
	})

	It("tell of a poll that its lease ended, whatever it brought", func() {
		run(func(g Gomega, b *bench) {
			b.stub.poll = takes(3 * time.Second)
			b.start(doc(), 0)
			bubble.Sleep(time.Second)
			b.cell.Kill(lease.ErrLost)
			bubble.Sleep(time.Minute)
			g.Expect(b.system.Events("poll.started")).To(HaveLen(1))
			g.Expect(b.system.Events("poll.canceled")).To(ConsistOf(ContainSubstring(`"duration_ms":1000`)))
			g.Expect(b.system.Events("poll.failed")).To(BeEmpty())
		})
	})

	It("tell of a poll whose result was refused as one that counts for nothing", func() {
		run(func(g Gomega, b *bench) {
			b.stub.finish = func(lease.Result) error { return lease.ErrLost }
			b.start(doc(), 0)
			bubble.Sleep(time.Second)
			g.Expect(b.system.Events("poll.canceled")).To(HaveLen(1))
			g.Expect(b.system.Events("result.fenced")).To(HaveLen(1))
			g.Expect(b.system.Events("poll.succeeded")).To(BeEmpty())
		})
	})
})
