package cell_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"leasehold/internal/bubble"
	"leasehold/lease"
	"leasehold/lease/cell"
)

var _ = Describe("a lease cell on a machine whose wall clock is set", func() {
	var ahead time.Duration
	set := func() *cell.Cell {
		ahead = 0
		ctx := cell.WithWall(context.Background(), func(t time.Time) time.Time { return t.Add(ahead) })
		return cell.New(ctx, lease.Term{Grant: grant(), TrustedUntil: time.Now().Add(time.Minute)})
	}

	It("is of no use once the wall clock was set past the deadline", func() {
		bubble.Run(func(g Gomega) {
			c := set()
			ahead = time.Minute - 1
			g.Expect(c.Usable()).To(BeTrue())
			g.Expect(c.Slept()).To(BeFalse())
			ahead = time.Minute
			g.Expect(c.Usable()).To(BeFalse())
			g.Expect(c.Extend(time.Now().Add(time.Hour))).To(BeFalse())
			g.Expect(context.Cause(c.Context())).To(MatchError(cell.ErrExpired))
		})
	})

	It("is not trusted longer where the wall clock was set back", func() {
		bubble.Run(func(g Gomega) {
			c := set()
			ahead = -time.Hour
			g.Expect(c.Usable()).To(BeTrue())
			lives(g, c, time.Minute, cell.ErrExpired)
		})
	})

	It("reckons an extension from the clock as it is then", func() {
		bubble.Run(func(g Gomega) {
			c := set()
			ahead = 30 * time.Second
			g.Expect(c.Extend(time.Now().Add(2 * time.Minute))).To(BeTrue())
			bubble.Sleep(119 * time.Second)
			g.Expect(c.Usable()).To(BeTrue())
			ahead = 31 * time.Second
			g.Expect(c.Slept()).To(BeTrue())
		})
	})
})
