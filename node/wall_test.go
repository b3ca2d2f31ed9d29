package node_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"leasehold/internal/bubble"
	"leasehold/internal/nodetest"
)

var _ = Describe("a wall clock that jumps ahead and back", func() {
	It("leaves no session unpolled, however short it was ahead", func() {
		bubble.Run(func(g Gomega) {
			f := nodetest.New(g)
			defer f.Stop()
			f.PutMany(20, 2*time.Second)
			m := f.Start()
			for range 20 { // in some of them only pollers look at the clock
				bubble.Sleep(1234 * time.Millisecond)
				m.JumpWall(time.Hour)
				bubble.Sleep(150 * time.Millisecond)
				m.JumpWall(-time.Hour)
				bubble.Sleep(5 * time.Second)
				at := time.Now()
				bubble.Sleep(5 * time.Second)
				g.Expect(f.Target.Since(at)).To(HaveLen(20))
			}
			g.Expect(f.Target.Overlaps()).To(BeEmpty())
		})
	})
})
