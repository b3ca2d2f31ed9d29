package poller_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"leasehold/actors/poller"
	"leasehold/internal/bubble"
	"leasehold/lease"
	"leasehold/lease/cell"
	"leasehold/session"
)

func unrecorded(st *stub) { st.finish = func(lease.Result) error { return errRedis } }
func recorded(st *stub)   { st.finish = func(lease.Result) error { return nil } }

var _ = Describe("a result that Redis did not take", func() {
	daily := func() *session.Session {
		s := doc()
		s.Misfire, s.Interval = session.Once, 24*time.Hour
		return s
	}

	It("is said again before the next question, which a task asks within seconds", func() {
		run(func(g Gomega, b *bench) {
			b.stub.plan(unrecorded)
			b.start(daily(), 0)
			bubble.Sleep(time.Minute)
			g.Expect(b.stub.see().begins).To(HaveLen(1), "its slot would be served again")
			said := b.stub.see().results
			b.stub.plan(recorded)
			b.stub.plan(func(st *stub) {
				st.begin = func(lease.Slot) (lease.Start, error) { return lease.Start{Wait: 20 * time.Hour}, nil }
			})
			bubble.Sleep(3 * time.Second)
			see := b.stub.see()
			g.Expect(see.begins).To(HaveLen(2))
			g.Expect(see.results).To(HaveLen(len(said) + 1))
			g.Expect(see.results[len(said)]).To(Equal(said[0]))
			bubble.Sleep(10 * time.Second)
			g.Expect(b.stub.see().results).To(HaveLen(len(said)+1), "once it is taken")
		})
	})

	It("is given up when the next slot is due", func() {
		run(func(g Gomega, b *bench) {
			b.stub.plan(unrecorded)
			b.start(doc(), 0)
			bubble.Sleep(interval)
			g.Expect(b.stub.see().polls).To(HaveLen(1))
			bubble.Sleep(2 * time.Second)
			g.Expect(b.stub.see().polls).To(HaveLen(2))
		})
	})

	It("is no failure any more once a poll went well", func() {
		run(func(g Gomega, b *bench) {
			b.deps.Failing = cell.NewSet()
			b.stub.poll = fails
			b.stub.plan(unrecorded)
			b.start(doc(), 0)
			bubble.Sleep(500 * time.Millisecond)
			g.Expect(b.deps.Failing.Len()).To(Equal(1))
			b.stub.plan(recorded)
			b.stub.plan(func(st *stub) {
				st.poll = func(context.Context) poller.Outcome { return poller.Outcome{OK: true, Class: poller.Success} }
			})
			bubble.Sleep(2 * interval)
			g.Expect(len(b.stub.see().polls)).To(BeNumerically(">", 1))
			g.Expect(b.deps.Failing.Len()).To(BeZero())
		})
	})

	It("leads to no poll where the poller is stopped meanwhile", func() {
		run(func(g Gomega, b *bench) {
			b.stub.plan(unrecorded)
			b.start(daily(), 0)
			bubble.Sleep(10 * time.Second)
			b.stub.plan(func(st *stub) {
				st.finish = func(lease.Result) error { time.Sleep(1500 * time.Millisecond); return nil }
			})
			bubble.Sleep(2200 * time.Millisecond) // the question is on its way
			b.tell(&poller.Stop{})
			bubble.Sleep(3 * time.Second)
			g.Expect(b.stub.see().begins).To(HaveLen(1))
			g.Expect(b.terminated()).To(BeTrue())
		})
	})

	It("ends its lease where it is refused later", func() {
		run(func(g Gomega, b *bench) {
			b.stub.plan(unrecorded)
			b.start(daily(), 0)
			bubble.Sleep(time.Minute)
			b.stub.plan(func(st *stub) { st.finish = func(lease.Result) error { return lease.ErrLost } })
			bubble.Sleep(3 * time.Second)
			g.Expect(b.cell.Alive()).To(BeFalse())
			g.Expect(b.stub.see().begins).To(HaveLen(1))
		})
	})
})

var _ = Describe("a poll whose begin takes long", func() {
	It("still has its own timeout where commands may take so long", func() {
		run(func(g Gomega, b *bench) {
			b.deps.Timeout = 6 * time.Second
			b.stub.begin = func(lease.Slot) (lease.Start, error) {
				select {
				case <-time.After(4 * time.Second):
				case <-b.cell.Context().Done():
				}
				return lease.Start{At: time.Now(), Due: time.Now()}, nil
			}
			b.stub.poll = func(ctx context.Context) poller.Outcome {
				mine, cancel := context.WithTimeout(ctx, doc().Timeout)
				defer cancel()
				<-mine.Done()
				if ctx.Err() != nil {
					return poller.Outcome{Class: poller.Canceled, Err: context.Cause(ctx)}
				}
				return poller.Outcome{Class: "timeout", Err: context.DeadlineExceeded}
			}
			b.start(doc(), 0)
			bubble.Sleep(time.Minute)
			g.Expect(b.stub.see().results[0].Class).To(Equal("timeout"))
		})
	})
})

var _ = Describe("a task that is edited", func() {
	It("is asked about every two seconds from when it is one", func() {
		run(func(g Gomega, b *bench) {
			s := doc()
			s.Interval = 24 * time.Hour
			b.start(s, 0)
			bubble.Sleep(time.Minute)
			b.stub.plan(func(st *stub) {
				st.begin = func(lease.Slot) (lease.Start, error) { return lease.Start{Wait: 20 * time.Hour}, nil }
			})
			t := *s
			t.Misfire = session.Once
			b.tell(&poller.Update{Session: &t})
			bubble.Sleep(5 * time.Second)
			g.Expect(len(b.stub.see().begins)).To(BeNumerically(">", 2))
		})
	})

	It("goes on where its timeout was shortened by mistake and corrected", func() {
		run(func(g Gomega, b *bench) {
			s := doc()
			s.Misfire, s.Interval, s.Timeout = session.Once, 24*time.Hour, 2*time.Hour
			b.stub.poll = takes(time.Minute)
			b.start(s, 0)
			bubble.Sleep(time.Second)
			short, other := *s, *s
			short.Timeout, other.Interval = 5*time.Second, 48*time.Hour
			b.tell(&poller.Update{Session: &short})
			bubble.Sleep(time.Second)
			b.tell(&poller.Update{Session: s})
			b.tell(&poller.Update{Session: &other})
			bubble.Sleep(2 * time.Minute)
			g.Expect(b.stub.see().results[0].Class).To(Equal(poller.Success))
		})
	})

	It("ends where its timeout stays short, whatever else is edited", func() {
		run(func(g Gomega, b *bench) {
			s := doc()
			s.Misfire, s.Interval, s.Timeout = session.Once, 24*time.Hour, 2*time.Hour
			b.stub.poll = takes(time.Minute)
			b.start(s, 0)
			bubble.Sleep(time.Second)
			short := *s
			short.Timeout = 5 * time.Second
			other := short
			other.Interval = 48 * time.Hour
			b.tell(&poller.Update{Session: &short})
			b.tell(&poller.Update{Session: &other})
			bubble.Sleep(2 * time.Minute)
			g.Expect(b.stub.see().results[0].Class).To(Equal(poller.Canceled))
		})
	})
})
