package node_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"leasehold/internal/bubble"
	"leasehold/internal/nodetest"
	"leasehold/node"
	"leasehold/redisevents"
)

var _ = Describe("a fleet without events", func() {
	It("shares, takes over and finds documents all the same, only later", func() {
		bubble.Run(func(g Gomega) {
			deaf := func(c *node.Config) { c.Events = redisevents.Off }
			f := nodetest.New(g)
			defer f.Stop()
			f.PutMany(30, 5*time.Second)
			a := f.Start(deaf)
			f.Start(deaf)
			bubble.Sleep(30 * time.Second)
			balanced(g, f, 30, 2)

			f.Start(deaf)
			bubble.Sleep(30 * time.Second)
			balanced(g, f, 30, 3)
			owners := f.Owners()
			bubble.Sleep(2 * time.Minute)
			g.Expect(f.Owners()).To(Equal(owners), "nothing moves in a settled fleet")

			a.Kill()
			bubble.Sleep(ttl + 5*time.Second + 200*time.Millisecond)
			balanced(g, f, 30, 2)

			f.Put("new", `{"url":"http://192.0.2.1/","interval":1}`)
			bubble.Sleep(15 * time.Second)
			g.Expect(f.Owners()).To(HaveKey("new"))
			g.Expect(f.Target.Overlaps()).To(BeEmpty())
		})
	})
})
