package cell_test

import (
	"context"
	"errors"
	"sync"
	"time"
	"unsafe"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"leasehold/internal/bubble"
	"leasehold/lease"
	"leasehold/lease/cell"
)

var errRefused = errors.New("refused")

func grant() lease.Grant { return lease.Grant{Session: "s", Holder: "n", Token: 7} }

// until returns a cell that is trusted for d.
func until(d time.Duration) *cell.Cell {
	return cell.New(context.Background(), lease.Term{Grant: grant(), TrustedUntil: time.Now().Add(d)})
}

// lives checks that the cell's context ends in d and not a nanosecond earlier.
func lives(g Gomega, c *cell.Cell, d time.Duration, cause error) {
	GinkgoHelper()
	bubble.Sleep(d - 1)
	g.Expect(c.Context().Err()).NotTo(HaveOccurred())
	bubble.Sleep(1)
	g.Expect(c.Context().Err()).To(HaveOccurred())
	g.Expect(context.Cause(c.Context())).To(MatchError(cause))
}

var _ = Describe("a lease cell", func() {
	It("ends at the trusted deadline by its own timer", func() {
		bubble.Run(func(g Gomega) {
			c := until(28 * time.Second)
			g.Expect(c.Usable()).To(BeTrue())
			g.Expect(c.Grant()).To(Equal(grant()))
			lives(g, c, 28*time.Second, cell.ErrExpired)
			g.Expect(c.Usable()).To(BeFalse())
		})
	})

	It("knows how long the poll in flight may still last", func() {
		bubble.Run(func(g Gomega) {
			c := until(time.Minute)
			g.Expect(c.Busy(time.Now())).To(BeZero())
			first := c.Work(time.Now().Add(10 * time.Second))
			bubble.Sleep(4 * time.Second)
			g.Expect(c.Busy(time.Now())).To(Equal(6 * time.Second))
			bubble.Sleep(7 * time.Second)
			g.Expect(c.Busy(time.Now())).To(BeZero(), "its time is over")
			second := c.Work(time.Now().Add(time.Second))
			first()
			g.Expect(c.Busy(time.Now())).To(Equal(time.Second))
			second()
			g.Expect(c.Busy(time.Now())).To(BeZero(), "it has ended")
		})
	})

	It("knows when the last accepted renewal was heard of", func() {
		bubble.Run(func(g Gomega) {
			c := until(28 * time.Second)
			granted := time.Now()
			g.Expect(c.Renewed()).To(Equal(granted))
			bubble.Sleep(10 * time.Second)
			c.Suspend()
			g.Expect(c.Renewed()).To(Equal(granted), "no answer is none")
			g.Expect(c.Extend(time.Now().Add(28 * time.Second))).To(BeTrue())
			g.Expect(c.Renewed()).To(Equal(granted.Add(10 * time.Second)))
			c.Kill(errRefused)
			bubble.Sleep(time.Second)
			g.Expect(c.Extend(time.Now().Add(28 * time.Second))).To(BeFalse())
			g.Expect(c.Renewed()).To(Equal(granted.Add(10*time.Second)), "a refused one neither")
		})
	})

	It("has ended at once when its deadline passed before it was made", func() {
		bubble.Run(func(g Gomega) {
			c := until(-time.Second)
			g.Expect(c.Usable()).To(BeFalse())
			bubble.Sleep(0)
			g.Expect(context.Cause(c.Context())).To(MatchError(cell.ErrExpired))
		})
	})

	It("ends with the context that it was made under, and carries its values", func() {
		bubble.Run(func(g Gomega) {
			type key struct{}
			parent, cancel := context.WithCancelCause(context.WithValue(context.Background(), key{}, "v"))
			c := cell.New(parent, lease.Term{TrustedUntil: time.Now().Add(time.Hour)})
			g.Expect(c.Context().Value(key{})).To(Equal("v"))
			cancel(errRefused)
			g.Expect(context.Cause(c.Context())).To(MatchError(errRefused))
			g.Expect(c.Usable()).To(BeFalse())
			g.Expect(c.Extend(time.Now().Add(2 * time.Hour))).To(BeFalse())
		})
	})

	It("lives on when it is extended, also again and again", func() {
		bubble.Run(func(g Gomega) {
			c := until(28 * time.Second)
			for range 5 {
				bubble.Sleep(10 * time.Second)
				g.Expect(c.Extend(time.Now().Add(28 * time.Second))).To(BeTrue())
			}
			g.Expect(c.TrustedUntil()).To(BeTemporally("==", time.Now().Add(28*time.Second)))
			lives(g, c, 28*time.Second, cell.ErrExpired)
		})
	})

	It("never moves back by an extension", func() {
		bubble.Run(func(g Gomega) {
			c := until(28 * time.Second)
			was := c.TrustedUntil()
			g.Expect(c.Extend(time.Now().Add(time.Second))).To(BeTrue())
			g.Expect(c.TrustedUntil()).To(Equal(was))
			lives(g, c, 28*time.Second, cell.ErrExpired)
		})
	})

	It("is not revived by an extension", func() {
		bubble.Run(func(g Gomega) {
			c := until(time.Second)
			bubble.Sleep(time.Second)
			g.Expect(c.Extend(time.Now().Add(time.Hour))).To(BeFalse())
			g.Expect(c.Usable()).To(BeFalse())
			g.Expect(c.Holds()).To(BeFalse())

			c = until(time.Hour)
			c.Kill(errRefused)
			g.Expect(c.Extend(time.Now().Add(2 * time.Hour))).To(BeFalse())
			g.Expect(context.Cause(c.Context())).To(MatchError(errRefused))
			g.Expect(c.Usable()).To(BeFalse())
		})
	})

	It("refuses an extension at the deadline although the timer has not rung yet", func() {
		bubble.Run(func(g Gomega) {
			c := until(0)
			g.Expect(c.Holds()).To(BeFalse())
			g.Expect(c.Extend(time.Now().Add(time.Hour))).To(BeFalse())
		})
	})

	It("can be limited, and ends then by its own timer", func() {
		bubble.Run(func(g Gomega) {
			c := until(28 * time.Second)
			c.Limit(time.Now().Add(5 * time.Second))
			g.Expect(c.TrustedUntil()).To(BeTemporally("==", time.Now().Add(5*time.Second)))
			c.Limit(time.Now().Add(9 * time.Second))
			lives(g, c, 5*time.Second, cell.ErrExpired)
			c.Limit(time.Now().Add(9 * time.Second))
			g.Expect(c.Usable()).To(BeFalse())
		})
	})

	It("is of no use while suspended, but does not end", func() {
		bubble.Run(func(g Gomega) {
			c := until(28 * time.Second)
			g.Expect(c.Suspend()).To(BeTrue(), "it was in use before")
			g.Expect(c.Suspend()).To(BeFalse())
			g.Expect(c.Usable()).To(BeFalse())
			g.Expect(c.Holds()).To(BeTrue(), "what has begun may go on")
			g.Expect(c.Context().Err()).NotTo(HaveOccurred())
			g.Expect(c.Extend(time.Now().Add(28 * time.Second))).To(BeTrue())
			g.Expect(c.Usable()).To(BeTrue())
			c.Suspend()
			lives(g, c, 28*time.Second, cell.ErrExpired)
		})
	})

	It("ends at once with the cause when it is killed, and keeps the first cause", func() {
		bubble.Run(func(g Gomega) {
			c := until(28 * time.Second)
			c.Kill(errRefused)
			c.Kill(cell.ErrExpired)
			g.Expect(context.Cause(c.Context())).To(MatchError(errRefused))
			bubble.Sleep(time.Minute)
			g.Expect(context.Cause(c.Context())).To(MatchError(errRefused))
		})
	})
})

// wallBehind returns the same moment on the monotonic clock with a wall clock
// reading that is whole seconds earlier, as a deadline looks after the machine
// slept that long. No clock can be made to do that, so it edits the first word of
// a time: the wall clock's seconds start at bit 30. Times of a bubble have no
// monotonic reading, so these specs run in real time, without waiting.
func wallBehind(t time.Time, seconds int64) time.Time {
	words := (*[2]uint64)(unsafe.Pointer(&t))
	words[0] -= uint64(seconds) << 30
	return t
}

// slept returns a cell whose deadline is a minute away on the monotonic clock and
// has just passed on the wall clock.
func slept() *cell.Cell {
	return cell.New(context.Background(), lease.Term{
		Grant: grant(), TrustedUntil: wallBehind(time.Now().Add(time.Minute), 60),
	})
}

var _ = Describe("a lease cell on a machine that slept", func() {
	It("is of no use once the wall clock is past the deadline", func() {
		c := slept()
		Expect(time.Until(c.TrustedUntil())).To(BeNumerically(">", 30*time.Second), "the clocks are apart")
		Expect(c.Context().Err()).NotTo(HaveOccurred(), "nobody has compared the clocks yet")
		Expect(c.Slept()).To(BeTrue())
		Expect(context.Cause(c.Context())).To(MatchError(cell.ErrExpired))
		Expect(c.Slept()).To(BeFalse(), "it has ended already")
		Expect(slept().Usable()).To(BeFalse())
	})

	It("is ended by an extension rather than revived", func() {
		c := slept()
		Expect(c.Extend(time.Now().Add(time.Hour))).To(BeFalse())
		Expect(context.Cause(c.Context())).To(MatchError(cell.ErrExpired))
	})

	It("is left alone while both clocks agree", func() {
		c := until(time.Second)
		Expect(c.Slept()).To(BeFalse())
		Expect(c.Usable()).To(BeTrue())
		c.Kill(errRefused)
	})

	It("ends as it is found of no use, lest a wall clock that goes back leave it alive and unused", func() {
		bubble.Run(func(g Gomega) {
			ahead := time.Duration(0)
			ctx := cell.WithWall(context.Background(), func(t time.Time) time.Time { return t.Add(ahead) })
			c := cell.New(ctx, lease.Term{TrustedUntil: time.Now().Add(time.Minute)})
			ahead = time.Hour
			g.Expect(c.Usable()).To(BeFalse())
			ahead = 0
			g.Expect(context.Cause(c.Context())).To(MatchError(cell.ErrExpired))
			g.Expect(c.Usable()).To(BeFalse())
		})
	})

	It("goes by the monotonic clock where the wall clock was set back", func() {
		c := cell.New(context.Background(), lease.Term{TrustedUntil: wallBehind(time.Now().Add(time.Minute), -3600)})
		Expect(c.Usable()).To(BeTrue())
		Expect(c.Slept()).To(BeFalse())
	})
})

var _ = Describe("what is done under a lease cell", func() {
	It("ends with the cell, and can end before it", func() {
		bubble.Run(func(g Gomega) {
			c := until(28 * time.Second)
			one, endOne := c.Use()
			other, endOther := c.Use()
			third, endThird := c.Use()
			defer endOther()
			g.Expect(one.Err()).NotTo(HaveOccurred())
			endOne()
			endOne()
			g.Expect(one.Err()).To(MatchError(context.Canceled))
			endThird()
			g.Expect(third.Err()).To(HaveOccurred())
			bubble.Sleep(28*time.Second - 1)
			g.Expect(other.Err()).NotTo(HaveOccurred())
			bubble.Sleep(1)
			g.Expect(context.Cause(other)).To(MatchError(cell.ErrExpired))
			g.Expect(context.Cause(one)).To(MatchError(context.Canceled), "it had ended before")
		})
	})

	It("has ended at once when it begins after the cell's end", func() {
		bubble.Run(func(g Gomega) {
			c := until(time.Hour)
			c.Kill(errRefused)
			ctx, end := c.Use()
			defer end()
			g.Expect(context.Cause(ctx)).To(MatchError(errRefused))
			g.Expect(context.Cause(c.Context())).To(MatchError(errRefused))
		})
	})

	It("ends with the cell's parent, and carries its values", func() {
		bubble.Run(func(g Gomega) {
			type key struct{}
			parent, cancel := context.WithCancelCause(context.WithValue(context.Background(), key{}, "v"))
			c := cell.New(parent, lease.Term{TrustedUntil: time.Now().Add(time.Hour)})
			ctx, end := c.Use()
			defer end()
			g.Expect(ctx.Value(key{})).To(Equal("v"))
			g.Expect(c.Alive()).To(BeTrue())
			cancel(errRefused)
			g.Expect(context.Cause(ctx)).To(MatchError(errRefused))
			g.Expect(c.Alive()).To(BeFalse())
			c.Kill(cell.ErrExpired)
			g.Expect(context.Cause(c.Context())).To(MatchError(errRefused), "the first cause counts")
		})
	})
})

var _ = Describe("who waits for a cell's end", func() {
	// waits hears of the end through a channel.
	waits := func(c *cell.Cell) chan error {
		heard := make(chan error, 2)
		c.OnEnd(func(cause error) { heard <- cause })
		return heard
	}

	It("hears of it once, with the first cause, unless he stopped to wait", func() {
		bubble.Run(func(g Gomega) {
			c := until(28 * time.Second)
			other := until(28 * time.Second)
			heard, unheard := waits(c), waits(other)
			other.OnEnd(nil)
			bubble.Sleep(28*time.Second - 1)
			g.Expect(heard).To(BeEmpty())
			bubble.Sleep(1)
			g.Expect(heard).To(Receive(MatchError(cell.ErrExpired)))
			c.Kill(errRefused)
			bubble.Sleep(time.Minute)
			g.Expect(heard).To(BeEmpty())
			g.Expect(unheard).To(BeEmpty())
			other.OnEnd(nil)
		})
	})

	It("hears at once of an end that was before", func() {
		bubble.Run(func(g Gomega) {
			c := until(time.Hour)
			c.Kill(errRefused)
			heard := waits(c)
			bubble.Sleep(0)
			g.Expect(heard).To(Receive(MatchError(errRefused)))
		})
	})

	It("hears of the end of the cell's parent through the set that it is in", func() {
		bubble.Run(func(g Gomega) {
			parent, cancel := context.WithCancelCause(context.Background())
			s := cell.NewSet()
			s.EndWith(parent)
			c := cell.New(parent, lease.Term{TrustedUntil: time.Now().Add(time.Hour)})
			heard := waits(c)
			s.Add(c)
			late := cell.New(parent, lease.Term{TrustedUntil: time.Now().Add(time.Hour)})
			heardLate := waits(late)
			bubble.Sleep(0)
			g.Expect(heard).To(BeEmpty())
			cancel(errRefused)
			bubble.Sleep(0)
			g.Expect(heard).To(Receive(MatchError(errRefused)))
			s.Add(late)
			bubble.Sleep(0)
			g.Expect(heardLate).To(Receive(MatchError(errRefused)))
			bubble.Sleep(time.Hour)
			g.Expect(s.Overdue(time.Now(), 0)).To(BeZero(), "only the parent has ended")
		})
	})
})

var _ = Describe("a lease cell under many goroutines", func() {
	It("keeps its deadline at the latest extension and ends once", func() {
		bubble.Run(func(g Gomega) {
			began := time.Now()
			c := until(time.Second)
			var wg sync.WaitGroup
			for i := range 50 {
				wg.Go(func() { c.Extend(began.Add(time.Duration(i+1) * time.Second)) })
				wg.Go(func() { c.Usable() })
				wg.Go(func() { c.TrustedUntil() })
				wg.Go(func() { c.Slept() })
			}
			wg.Wait()
			g.Expect(c.TrustedUntil()).To(Equal(began.Add(50 * time.Second)))
			for range 10 {
				wg.Go(func() { c.Kill(errRefused) })
				wg.Go(func() { c.Suspend() })
				wg.Go(func() { c.Extend(began.Add(time.Hour)) })
			}
			wg.Wait()
			g.Expect(c.Usable()).To(BeFalse())
			g.Expect(context.Cause(c.Context())).To(MatchError(errRefused))
		})
	})
})
