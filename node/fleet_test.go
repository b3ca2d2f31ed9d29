package node_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"leasehold/internal/bubble"
	"leasehold/internal/nodetest"
)

// balanced checks that every session is leased and no node has more than one
// session above another.
func balanced(g Gomega, f *nodetest.Fleet, sessions, nodes int) {
	GinkgoHelper()
	loads := f.Loads()
	total := 0
	for _, n := range loads {
		g.Expect(n).To(BeNumerically("~", float64(sessions)/float64(nodes), 0.999), "loads %v", loads)
		total += n
	}
	g.Expect(total).To(Equal(sessions), "loads %v", loads)
	g.Expect(loads).To(HaveLen(nodes), "loads %v", loads)
}

var _ = Describe("a fleet", func() {
	It("shares nine sessions among three nodes, three each, and polls each once an interval", func() {
		bubble.Run(func(g Gomega) {
			f := nodetest.New(g)
			defer f.Stop()
			f.PutMany(9, 10*time.Second)
			for range 3 {
				f.Start()
			}
			bubble.Sleep(30 * time.Second)
			balanced(g, f, 9, 3)
			owners := f.Owners()
			at := time.Now()
			bubble.Sleep(100 * time.Second)
			g.Expect(f.Owners()).To(Equal(owners))
			for id, polls := range f.Target.Since(at) {
				g.Expect(len(polls)).To(BeNumerically("~", 10, 1), id)
				for _, p := range polls {
					g.Expect(p.Instance).To(Equal(owners[id]))
				}
			}
			g.Expect(f.Target.Since(at)).To(HaveLen(9))
			g.Expect(f.Target.Overlaps()).To(BeEmpty())
		})
	})
})
