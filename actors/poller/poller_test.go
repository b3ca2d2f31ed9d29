package poller_test

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"leasehold/actors/poller"
	"leasehold/internal/bubble"
	"leasehold/lease"
	"leasehold/lease/cell"
	"leasehold/session"
)

var _ = Describe("a poller", func() {
	It("polls first when it was told to, with the grant and the document", func() {
		run(func(g Gomega, b *bench) {
			b.start(doc(), 3*time.Second)
			bubble.Sleep(3*time.Second - 1)
			g.Expect(b.stub.see().begins).To(BeEmpty())
			bubble.Sleep(1)
			g.Expect(b.at(b.stub.see().polls)).To(Equal(seconds(3)))
			g.Expect(b.stub.see().jobs[0].Grant).To(Equal(lease.Grant{Session: "s", Holder: "n1", Token: 7}))
			g.Expect(b.stub.see().jobs[0].Session).To(Equal(*doc()))
			holds := b.stub.see().jobs[0].Holds
			g.Expect(holds()).To(BeTrue())
			g.Expect(b.stub.see().slots[0].Interval).To(Equal(interval))
			g.Expect(b.stub.see().slots[0].Bound).To(BeNumerically(">", 5*time.Second), "the poll's own timeout comes first")
			b.cell.Kill(cell.ErrExpired)
			g.Expect(holds()).To(BeFalse())
		})
	})

	It("keeps the rhythm from start to start, whatever a poll lasts", func() {
		run(func(g Gomega, b *bench) {
			// The slot that a poll serves is the one before plus the interval.
			due := time.Time{}
			b.stub.begin = func(lease.Slot) (lease.Start, error) {
				s := lease.Start{At: time.Now(), Due: due}
				return s, nil
			}
			b.stub.finish = func(r lease.Result) error {
				due = r.NextDue
				return nil
			}
			b.stub.poll = takes(4 * time.Second)
			b.start(doc(), 0)
			bubble.Sleep(200 * time.Second)
			g.Expect(len(b.stub.see().polls)).To(BeNumerically("~", 20, 1))
			for i := range len(b.stub.see().polls) - 1 {
				// The phase of the session draws a slot by at most a fiftieth.
				g.Expect(b.stub.see().polls[i+1].Sub(b.stub.see().polls[i])).To(BeNumerically("~", interval, 250*time.Millisecond))
			}
			g.Expect(b.stub.see().together).To(Equal(1))
		})
	})

	It("drops the slots that a long poll covered, without a burst", func() {
		run(func(g Gomega, b *bench) {
			b.stub.poll = takes(25 * time.Second)
			s := doc()
			s.Timeout = time.Minute
			b.start(s, 0)
			bubble.Sleep(31 * time.Second)
			g.Expect(b.stub.see().polls).To(HaveLen(2))
			g.Expect(b.stub.see().polls[1].Sub(b.began)).To(BeNumerically("~", 30*time.Second, 250*time.Millisecond))
			g.Expect(b.stub.see().together).To(Equal(1))
		})
	})

	It("waits as long as Begin says, and does not poll before", func() {
		run(func(g Gomega, b *bench) {
			b.stub.begin = func(lease.Slot) (lease.Start, error) {
				if time.Since(b.began) < 4*time.Second {
					return lease.Start{Wait: 4 * time.Second}, nil
				}
				return lease.Start{At: time.Now()}, nil
			}
			b.start(doc(), 0)
			bubble.Sleep(4 * time.Second)
			g.Expect(b.at(b.stub.see().begins)).To(Equal(seconds(0, 4)))
			g.Expect(b.at(b.stub.see().polls)).To(Equal(seconds(4)))
		})
	})

	It("kills the cell when Begin says that the lease is lost, and polls no more", func() {
		run(func(g Gomega, b *bench) {
			b.stub.begin = func(lease.Slot) (lease.Start, error) { return lease.Start{}, lease.ErrLost }
			b.start(doc(), 0)
			bubble.Sleep(time.Hour - time.Minute)
			g.Expect(b.stub.see().begins).To(HaveLen(1))
			g.Expect(b.stub.see().polls).To(BeEmpty())
			g.Expect(context.Cause(b.cell.Context())).To(MatchError(lease.ErrLost))
		})
	})

	It("does not poll when Begin has no answer, asks again with a growing gap, and says so once", func() {
		run(func(g Gomega, b *bench) {
			b.stub.begin = func(lease.Slot) (lease.Start, error) {
				if time.Since(b.began) < 8*time.Second {
					return lease.Start{}, errRedis
				}
				return lease.Start{At: time.Now()}, nil
			}
			b.start(doc(), 0)
			bubble.Sleep(9 * time.Second)
			g.Expect(b.at(b.stub.see().begins)).To(Equal(seconds(0, 0.25, 0.75, 1.75, 3.75, 5.75, 7.75, 9.75)[:7]))
			g.Expect(b.stub.see().polls).To(BeEmpty())
			bubble.Sleep(time.Second)
			g.Expect(b.at(b.stub.see().polls)).To(Equal(seconds(9.75)))
			g.Expect(b.system.Events("poll.deferred")).To(HaveLen(1))

			b.stub.plan(func(s *stub) {
				s.begin = func(lease.Slot) (lease.Start, error) { return lease.Start{}, errRedis }
			})
			bubble.Sleep(20 * time.Second)
			g.Expect(b.system.Events("poll.deferred")).To(HaveLen(2), "a second outage is news again")
		})
	})

	It("counts a panic as a failed poll and goes on", func() {
		run(func(g Gomega, b *bench) {
			b.stub.poll = func(context.Context) poller.Outcome { panic("planned") }
			b.start(doc(), 0)
			bubble.Sleep(1500 * time.Millisecond)
			g.Expect(b.stub.see().results).To(HaveLen(2))
			g.Expect(b.stub.see().results[0].OK).To(BeFalse())
			g.Expect(b.stub.see().results[0].Class).To(Equal(poller.Panicked))
			g.Expect(b.stub.see().results[0].Error).To(ContainSubstring("planned"))
			g.Expect(b.system.Failures()).To(BeEmpty(), "the actor itself did not fail")
			g.Expect(b.system.Events("poll.failed")).NotTo(BeEmpty())
		})
	})

	It("retries a failed poll after the gap that was recorded for the fleet", func() {
		run(func(g Gomega, b *bench) {
			failures := 0
			b.stub.begin = func(lease.Slot) (lease.Start, error) {
				return lease.Start{At: time.Now(), Failures: failures}, nil
			}
			b.stub.finish = func(r lease.Result) error {
				failures = r.Failures
				return nil
			}
			b.stub.poll = fails
			b.start(doc(), 0)
			bubble.Sleep(8 * time.Second)
			b.stub.plan(func(s *stub) { s.poll = takes(0) })
			bubble.Sleep(9 * time.Second)
			g.Expect(b.at(b.stub.see().polls)).To(Equal(seconds(0, 1, 3, 7, 15)))
			g.Expect(b.system.Events("poll.failed")).To(HaveLen(4))
			g.Expect(b.system.Events("poll.failed")[0]).To(ContainSubstring(`"warn"`))
			g.Expect(b.system.Events("poll.failed")[1]).To(ContainSubstring(`"debug"`), "only the change is a warning")
			g.Expect(b.system.Events("poll.recovered")).To(HaveLen(1))
			g.Expect(b.parent.Got()).To(BeEmpty(), "the lease is kept")
		})
	})

	It("asks its parent to release when a poll failed of a session that wants it, and polls no more", func() {
		run(func(g Gomega, b *bench) {
			b.stub.poll = fails
			s := doc()
			s.OnFailure = session.Release
			b.start(s, 0)
			bubble.Sleep(time.Minute)
			g.Expect(b.parent.Got()).To(Equal([]any{&poller.Failed{RetryIn: time.Second}}))
			g.Expect(b.stub.see().polls).To(HaveLen(1))
		})
	})

	It("tries to record a result three times, and goes on", func() {
		run(func(g Gomega, b *bench) {
			b.stub.finish = func(lease.Result) error { return errRedis }
			b.start(doc(), 0)
			bubble.Sleep(time.Second)
			g.Expect(b.stub.see().results).To(HaveLen(3))
			g.Expect(b.system.Events("poll.deferred")).To(HaveLen(1))
			bubble.Sleep(interval)
			g.Expect(b.stub.see().polls).To(HaveLen(2))
		})
	})

	It("names each attempt anew, lest the next slot be taken for a repetition", func() {
		run(func(g Gomega, b *bench) {
			b.stub.finish = func(lease.Result) error { return errRedis }
			b.start(doc(), 0)
			bubble.Sleep(interval + time.Second)
			slots := b.stub.see().slots
			g.Expect(slots).To(HaveLen(2))
			g.Expect(slots[0].Attempt).NotTo(BeZero())
			g.Expect(slots[1].Attempt).NotTo(Or(BeZero(), Equal(slots[0].Attempt)))
		})
	})

	It("keeps an attempt's name until it has an answer", func() {
		run(func(g Gomega, b *bench) {
			b.stub.begin = func(lease.Slot) (lease.Start, error) { return lease.Start{}, errRedis }
			b.start(doc(), 0)
			bubble.Sleep(time.Second)
			slots := b.stub.see().slots
			g.Expect(len(slots)).To(BeNumerically(">", 1))
			for i, s := range slots {
				g.Expect(s.Attempt).To(Equal(slots[0].Attempt))
				g.Expect(i == 0 || s.Question > slots[i-1].Question).To(BeTrue(), "the %dth question", i)
			}
		})
	})

	It("logs a result that the fence refused, and kills the cell", func() {
		run(func(g Gomega, b *bench) {
			b.stub.finish = func(lease.Result) error { return fmt.Errorf("old token: %w", lease.ErrLost) }
			b.start(doc(), 0)
			bubble.Sleep(time.Minute)
			g.Expect(b.system.Events("result.fenced")).To(HaveLen(1))
			g.Expect(b.system.Events("result.fenced")[0]).To(ContainSubstring(`"version":7`))
			g.Expect(b.system.Events("poll.succeeded")).To(BeEmpty(), "what came too late is no success")
			g.Expect(b.cell.Context().Err()).To(HaveOccurred())
			g.Expect(b.stub.see().polls).To(HaveLen(1))
		})
	})
})

var _ = Describe("a poller that is told to stop", func() {
	It("ends at once when no poll is in flight, and nothing runs after Terminated", func() {
		run(func(g Gomega, b *bench) {
			b.start(doc(), 0)
			bubble.Sleep(time.Second)
			b.tell(&poller.Stop{})
			g.Expect(b.terminated()).To(BeTrue())
			bubble.Sleep(time.Minute)
			g.Expect(b.stub.see().polls).To(HaveLen(1))
		})
	})

	It("ends when the poll in flight has ended by itself and was recorded", func() {
		run(func(g Gomega, b *bench) {
			b.stub.poll = takes(4 * time.Second)
			b.start(doc(), 0)
			bubble.Sleep(time.Second)
			b.tell(&poller.Stop{})
			bubble.Sleep(3*time.Second - 1)
			g.Expect(b.terminated()).To(BeFalse())
			bubble.Sleep(1)
			g.Expect(b.terminated()).To(BeTrue())
			g.Expect(b.stub.see().results).To(HaveLen(1))
			g.Expect(b.stub.see().results[0].OK).To(BeTrue())
		})
	})

	It("cancels the poll in flight on Abort, also when Stop came before, and leaves its slot open", func() {
		run(func(g Gomega, b *bench) {
			b.stub.poll = takes(4 * time.Second)
			b.start(doc(), 0)
			b.tell(&poller.Stop{})
			bubble.Sleep(time.Second)
			b.tell(&poller.Stop{Abort: true})
			g.Expect(b.terminated()).To(BeTrue())
			g.Expect(b.at(b.stub.see().ends)).To(Equal(seconds(1)))
			g.Expect(b.stub.see().results).To(HaveLen(1))
			r := b.stub.see().results[0]
			g.Expect(r.Class).To(Equal(poller.Canceled))
			g.Expect(r.RetryAt.IsZero()).To(BeTrue())
			g.Expect(r.Failures).To(BeZero())
			g.Expect(r.NextDue).To(Equal(r.Started), "a first poll that says nothing is still to be done")
			g.Expect(b.system.Events("poll.failed")).To(BeEmpty())
		})
	})

	It("waits for its poll also when it is stopped from above", func() {
		run(func(g Gomega, b *bench) {
			b.stub.poll = func(ctx context.Context) poller.Outcome {
				<-ctx.Done()
				time.Sleep(2 * time.Second) // a target that is slow to let go
				return poller.Outcome{Class: poller.Canceled, Err: ctx.Err()}
			}
			b.start(doc(), 0)
			bubble.Sleep(time.Second)
			b.parent.StopChild(b.pid)
			bubble.Sleep(2*time.Second - 1)
			g.Expect(b.terminated()).To(BeFalse())
			g.Expect(b.stub.see().flying).To(Equal(1))
			bubble.Sleep(1)
			g.Expect(b.terminated()).To(BeTrue())
			g.Expect(b.stub.see().flying).To(BeZero())
		})
	})

	It("waits for its poll also when it fails itself", func() {
		run(func(g Gomega, b *bench) {
			b.stub.poll = takes(4 * time.Second)
			b.start(doc(), 0)
			bubble.Sleep(time.Second)
			b.tell((*poller.Update)(nil)) // a message that no parent sends: the actor panics
			bubble.Sleep(time.Second)
			g.Expect(b.system.Failures()).To(HaveLen(1))
			g.Expect(b.terminated()).To(BeTrue())
			g.Expect(b.at(b.stub.see().ends)).To(Equal(seconds(1)), "its context was canceled")
			bubble.Sleep(time.Minute)
			g.Expect(b.stub.see().polls).To(HaveLen(1))
		})
	})
})

var _ = Describe("a poller whose cell can't be used", func() {
	It("starts no poll while the cell is suspended, and goes on when it is told that renewals succeed", func() {
		run(func(g Gomega, b *bench) {
			b.start(doc(), 5*time.Second)
			b.cell.Suspend()
			bubble.Sleep(20 * time.Second)
			g.Expect(b.stub.see().begins).To(BeEmpty())
			b.tell(&poller.Resume{})
			g.Expect(b.stub.see().begins).To(BeEmpty(), "the cell is still suspended")
			b.cell.Extend(time.Now().Add(time.Hour))
			b.tell(&poller.Resume{})
			g.Expect(b.at(b.stub.see().polls)).To(Equal(seconds(20)))
		})
	})

	It("lets a poll in flight go on while the cell is suspended", func() {
		run(func(g Gomega, b *bench) {
			b.stub.poll = takes(4 * time.Second)
			b.start(doc(), 0)
			b.cell.Suspend()
			bubble.Sleep(5 * time.Second)
			g.Expect(b.stub.see().results).To(HaveLen(1))
			g.Expect(b.stub.see().results[0].OK).To(BeTrue())
		})
	})

	It("does not poll when the cell was suspended while Begin was under way", func() {
		run(func(g Gomega, b *bench) {
			b.stub.begin = func(lease.Slot) (lease.Start, error) {
				b.cell.Suspend()
				return lease.Start{At: time.Now(), Due: b.began}, nil
			}
			b.start(doc(), 0)
			bubble.Sleep(time.Minute)
			g.Expect(b.stub.see().polls).To(BeEmpty())
			g.Expect(b.stub.see().begins).To(HaveLen(1))
			g.Expect(b.stub.see().results).To(HaveLen(1))
			g.Expect(b.stub.see().results[0].NextDue).To(Equal(b.began), "the slot stays open")
		})
	})

	It("cancels the poll in flight at the end of trust, without any message, and polls no more", func() {
		run(func(g Gomega, b *bench) {
			b.cell = b.newCell(8 * time.Second)
			b.stub.poll = takes(time.Minute)
			s := doc()
			s.Timeout = time.Minute
			b.start(s, 0)
			bubble.Sleep(8*time.Second - 1)
			g.Expect(b.stub.see().flying).To(Equal(1))
			bubble.Sleep(1)
			g.Expect(b.at(b.stub.see().ends)).To(Equal(seconds(8)))
			bubble.Sleep(time.Minute)
			g.Expect(b.stub.see().polls).To(HaveLen(1))
			g.Expect(b.stub.see().results).To(HaveLen(1), "also told to Redis, whose fence decides")
		})
	})

	It("tells Redis of the end of its poll once more, not for ever, when the cell has ended", func() {
		run(func(g Gomega, b *bench) {
			b.cell = b.newCell(6 * time.Second)
			b.stub.poll = takes(time.Minute)
			b.stub.finish = func(lease.Result) error { return errRedis }
			b.start(doc(), 0)
			bubble.Sleep(6 * time.Second)
			g.Expect(b.stub.see().results).To(HaveLen(1))
			b.tell(&poller.Stop{Abort: true})
			g.Expect(b.terminated()).To(BeTrue())
		})
	})
})

var _ = Describe("a poller whose document changes", func() {
	It("asks Redis at once when another interval is due", func() {
		run(func(g Gomega, b *bench) {
			b.start(doc(), 0)
			bubble.Sleep(time.Second)
			s := doc()
			s.Interval = 2 * time.Second
			b.stub.plan(func(s *stub) {
				s.begin = func(lease.Slot) (lease.Start, error) {
					if left := 2*time.Second - time.Since(b.began); left > 0 {
						return lease.Start{Wait: left}, nil
					}
					return lease.Start{At: time.Now()}, nil
				}
			})
			b.tell(&poller.Update{Session: s})
			bubble.Sleep(time.Second)
			g.Expect(b.at(b.stub.see().begins)).To(Equal(seconds(0, 1, 2)))
			g.Expect(b.at(b.stub.see().polls)).To(Equal(seconds(0, 2)))
			g.Expect(b.stub.see().slots[1].Interval).To(Equal(2 * time.Second))
		})
	})

	// A poll of who had the session before Redis forgot it may be in flight.
	for what, change := range map[string]func(s *session.Session){
		"a session":                        func(*session.Session) {},
		"a task, which is asked for early": func(s *session.Session) { s.Misfire = session.Once },
	} {
		It("does not ask before it may, of "+what+", nor when another interval is due or renewals go on", func() {
			run(func(g Gomega, b *bench) {
				s := doc()
				change(s)
				b.spawn(poller.Config{Session: s, HeldOff: 30 * time.Second})
				bubble.Sleep(10 * time.Second)
				edited := *s
				edited.Interval = time.Second
				b.tell(&poller.Update{Session: &edited})
				b.tell(&poller.Resume{})
				bubble.Sleep(20*time.Second - 1)
				g.Expect(b.stub.see().begins).To(BeEmpty())
				bubble.Sleep(1)
				g.Expect(b.stub.see().begins).To(HaveLen(1))
			})
		})
	}

	It("asks once it may when another interval came while it was held off, before its first slot", func() {
		run(func(g Gomega, b *bench) {
			s := doc()
			s.Interval = time.Hour
			b.spawn(poller.Config{Session: s, First: time.Hour, HeldOff: 30 * time.Second})
			bubble.Sleep(10 * time.Second)
			edited := *s
			edited.Interval = time.Minute
			b.tell(&poller.Update{Session: &edited})
			bubble.Sleep(time.Minute)
			g.Expect(b.at(b.stub.see().begins)[:1]).To(Equal(seconds(30)))
			g.Expect(b.stub.see().slots[0].Interval).To(Equal(time.Minute))
		})
	})

	It("keeps its first slot that comes after it was held off", func() {
		run(func(g Gomega, b *bench) {
			b.spawn(poller.Config{Session: doc(), First: 40 * time.Second, HeldOff: 30 * time.Second})
			bubble.Sleep(40 * time.Second)
			g.Expect(b.at(b.stub.see().begins)[:1]).To(Equal(seconds(40)))
		})
	})

	It("asks Redis after the poll in flight when the interval changed during it", func() {
		run(func(g Gomega, b *bench) {
			s := doc()
			s.Interval = time.Hour
			b.stub.poll = takes(time.Second)
			b.start(s, 0)
			s = doc()
			s.Interval = 2 * time.Second
			b.tell(&poller.Update{Session: s})
			bubble.Sleep(time.Second)
			g.Expect(b.at(b.stub.see().begins)).To(Equal(seconds(0, 1)))
			g.Expect(b.stub.see().slots[1].Interval).To(Equal(2 * time.Second))
		})
	})

	It("does not wait for the gate with the old document", func() {
		run(func(g Gomega, b *bench) {
			leave := occupy(b.deps.Gate, 10)
			b.start(doc(), 0)
			bubble.Sleep(time.Second)
			s := doc()
			s.URL = "http://192.0.2.2/"
			b.tell(&poller.Update{Session: s})
			bubble.Sleep(time.Second)
			g.Expect(b.stub.see().begins).To(BeEmpty())
			leave()
			bubble.Sleep(time.Second)
			g.Expect(b.stub.see().jobs).To(HaveLen(1))
			g.Expect(b.stub.see().jobs[0].Session.URL).To(Equal(s.URL))
		})
	})

	It("does not wait for an answer longer than a shorter timeout says, and polls again", func() {
		run(func(g Gomega, b *bench) {
			s := doc()
			s.Timeout = time.Hour
			b.stub.poll = takes(time.Hour)
			b.start(s, 0)
			bubble.Sleep(4 * time.Second)
			s = doc() // it is never changed once it is known
			s.Timeout = 5 * time.Second
			b.tell(&poller.Update{Session: s})
			bubble.Sleep(5*time.Second - 1)
			g.Expect(b.stub.see().polls).To(HaveLen(1))
			bubble.Sleep(2)
			g.Expect(b.at(b.stub.see().ends)).To(Equal(seconds(9)))
			g.Expect(b.at(b.stub.see().polls)).To(Equal(seconds(0, 9)))
			g.Expect(b.stub.see().together).To(Equal(1))
			g.Expect(b.stub.see().jobs[1].Session.Timeout).To(Equal(5 * time.Second))
			bubble.Sleep(time.Second)
			g.Expect(b.stub.see().flying).To(Equal(1), "the new poll has a limit of its own")
		})
	})

	It("lets a shorter timeout that came during a poll not end the next one", func() {
		run(func(g Gomega, b *bench) {
			s := doc()
			s.Timeout = time.Hour
			b.stub.poll = takes(6 * time.Second)
			b.start(s, 0)
			bubble.Sleep(4 * time.Second)
			s = doc()
			s.Timeout = 8 * time.Second
			b.tell(&poller.Update{Session: s})
			bubble.Sleep(14 * time.Second)
			seen := b.stub.see()
			g.Expect(seen.polls).To(HaveLen(2))
			g.Expect(seen.ends).To(HaveLen(2))
			for i := range 2 {
				g.Expect(seen.ends[i].Sub(seen.polls[i])).To(Equal(6 * time.Second))
			}
		})
	})

	It("uses the new document from the next poll on, without a poll in between", func() {
		run(func(g Gomega, b *bench) {
			b.start(doc(), 0)
			bubble.Sleep(time.Second)
			s := doc()
			s.URL = "http://192.0.2.2/"
			b.tell(&poller.Update{Session: s})
			g.Expect(b.stub.see().polls).To(HaveLen(1))
			bubble.Sleep(interval)
			g.Expect(b.stub.see().jobs).To(HaveLen(2))
			g.Expect(b.stub.see().jobs[1].Session.URL).To(Equal(s.URL))
		})
	})
})
