package node_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"leasehold/internal/bubble"
	"leasehold/internal/nodetest"
)

var _ = Describe("a fail-over to a replica that lags behind a move", func() {
	for name, cut := range map[string]bool{"that goes on": false, "that is cut off": true} {
		It("does not let the former owner poll beside the present one, "+name, func() {
			bubble.Run(func(g Gomega) {
				f := nodetest.New(g)
				defer f.Stop()
				for _, id := range []string{"s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7"} {
					f.Put(id, `{"url":"http://192.0.2.1/","interval":"2s","timeout":"30s"}`)
				}
				f.Start()
				bubble.Sleep(20 * time.Second)
				b := f.Start()
				replica := f.Mini.Snapshot() // it hears of nothing after this
				bubble.Sleep(3 * time.Second)
				moved := f.Owners()
				g.Expect(f.Loads()[b.Name]).To(Equal(4))
				for id, owner := range moved {
					if owner == b.Name {
						f.Target.Set(id, nodetest.Behavior{Delay: 20 * time.Second})
					}
				}
				bubble.Sleep(4 * time.Second) // its polls are in flight
				if cut {
					b.Link.Cut()
				}
				f.FailOver(replica)
				bubble.Sleep(29 * time.Second)
				g.Expect(f.Target.Overlaps()).To(BeEmpty())
			})
		})
	}
})
