package cell_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"leasehold/internal/bubble"
	"leasehold/lease/cell"
)

var _ = Describe("a set of cells", func() {
	It("knows the least trust that is left in one that lives", func() {
		bubble.Run(func(g Gomega) {
			s := cell.NewSet()
			_, ok := s.Shortest(time.Now())
			g.Expect(ok).To(BeFalse())
			long, short, dead := until(time.Hour), until(time.Minute), until(time.Second)
			for _, c := range []*cell.Cell{long, short, dead} {
				s.Add(c)
			}
			bubble.Sleep(10 * time.Second)
			left, ok := s.Shortest(time.Now())
			g.Expect(ok).To(BeTrue())
			g.Expect(left).To(Equal(50 * time.Second))
			s.Remove(short)
			left, _ = s.Shortest(time.Now())
			g.Expect(left).To(Equal(time.Hour - 10*time.Second))
			g.Expect(s.Len()).To(Equal(2))
		})
	})

	It("counts those that ended longer ago than they may, from when their end was noticed", func() {
		bubble.Run(func(g Gomega) {
			s := cell.NewSet()
			expired, killed := until(10*time.Second), until(time.Hour)
			s.Add(expired)
			s.Add(killed)
			g.Expect(expired.Ended()).To(BeZero())
			bubble.Sleep(11 * time.Second)
			g.Expect(s.Overdue(time.Now(), time.Second)).To(BeZero(), "not longer ago than that")
			killed.Kill(errRefused)
			bubble.Sleep(time.Second)
			g.Expect(s.Overdue(time.Now(), time.Second)).To(Equal(1))
			killed.Kill(errRefused)
			bubble.Sleep(time.Second)
			g.Expect(s.Overdue(time.Now(), time.Second)).To(Equal(2), "a second kill changes nothing")
			s.Remove(expired)
			s.Remove(killed)
			g.Expect(s.Overdue(time.Now(), 0)).To(BeZero())
		})
	})

	It("counts the cells that live, and keeps no others", func() {
		bubble.Run(func(g Gomega) {
			s := cell.NewSet()
			lives, killed, expires := until(time.Hour), until(time.Hour), until(time.Second)
			for _, c := range []*cell.Cell{lives, killed, expires, lives} {
				s.Add(c)
			}
			g.Expect(s.Living()).To(Equal(3))
			killed.Kill(errRefused)
			bubble.Sleep(2 * time.Second)
			g.Expect(s.Len()).To(Equal(3), "nobody has looked")
			g.Expect(s.Living()).To(Equal(1))
			g.Expect(s.Len()).To(Equal(1))
			lives.Kill(errRefused)
			g.Expect((*cell.Set)(nil).Living()).To(BeZero())
		})
	})

	It("knows whose cells it has", func() {
		bubble.Run(func(g Gomega) {
			s, c := cell.NewSet(), until(time.Second)
			g.Expect(s.Has(c.Grant().Session)).To(BeFalse())
			s.Add(c)
			g.Expect(s.Has(c.Grant().Session)).To(BeTrue())
			g.Expect(s.Has("another")).To(BeFalse())
			s.Remove(c)
			g.Expect(s.Has(c.Grant().Session)).To(BeFalse())
			c.Kill(errRefused)
		})
	})

	It("that is nil holds nothing", func() {
		bubble.Run(func(g Gomega) {
			var s *cell.Set
			s.Add(until(time.Second))
			g.Expect(s.Len()).To(BeZero())
		})
	})
})
