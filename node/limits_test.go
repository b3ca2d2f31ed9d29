package node_test

import (
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"leasehold/internal/bubble"
	"leasehold/internal/nodetest"
	"leasehold/node"
)

var _ = Describe("nodes with a limit of sessions", func() {
	It("leave nothing unpolled while another node has room", func() {
		bubble.Run(func(g Gomega) {
			f := nodetest.New(g)
			defer f.Stop()
			f.PutMany(60, 10*time.Second)
			for range 5 {
				f.Start(func(c *node.Config) { c.MaxSessions = 5 })
			}
			free := f.Start()
			bubble.Sleep(time.Minute)
			unowned := map[string]time.Duration{}
			for range 400 {
				owners, loads := f.Owners(), f.Loads()
				for i := range 60 {
					id := fmt.Sprintf("s%d", i)
					if owners[id] != "" {
						unowned[id] = 0
						continue
					}
					unowned[id] += 500 * time.Millisecond
					g.Expect(unowned[id]).To(BeNumerically("<=", time.Second), id)
				}
				for name, n := range loads {
					if name != free.Name {
						g.Expect(n).To(BeNumerically("<=", 5))
					}
				}
				bubble.Sleep(500 * time.Millisecond)
			}
			g.Expect(f.Owners()).To(HaveLen(60))
			at := time.Now()
			bubble.Sleep(30 * time.Second)
			g.Expect(f.Target.Since(at)).To(HaveLen(60))
			g.Expect(f.Target.Overlaps()).To(BeEmpty())
		})
	})
})
