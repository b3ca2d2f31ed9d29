package node_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"leasehold/internal/bubble"
	"leasehold/internal/nodetest"
)

var _ = Describe("a node that starts after Redis lost its data", func() {
	// starts has a node cut off while it polls, Redis forget everything, and a node start
	// then, beside one that saw it, if there is one.
	const document = `{"kind":"http","url":"http://target/","interval":"1h","timeout":"50m"}`
	starts := func(g Gomega, f *nodetest.Fleet, seen bool) {
		f.Target.Set("s", nodetest.Behavior{Delay: time.Hour})
		f.Put("s", document)
		polling := f.Start()
		bubble.Sleep(5 * time.Second)
		g.Expect(f.Owners()).To(HaveKeyWithValue("s", polling.Name))
		if seen {
			f.Start()
			bubble.Sleep(5 * time.Second)
		}
		polling.Link.Cut()
		f.Target.Set("s", nodetest.Behavior{Delay: time.Second})
		f.RestartRedis(false)
		f.Put("s", document)
		bubble.Sleep(2 * time.Second)
		f.Start()
	}

	It("leaves alone what one that is cut off may still poll, as those do which saw it", func() {
		bubble.Run(func(g Gomega) {
			f := nodetest.New(g)
			defer f.Stop()
			starts(g, f, true)
			bubble.Sleep(ttl - 8*time.Second)
			g.Expect(f.Owners()).NotTo(HaveKey("s"))
			bubble.Sleep(12 * time.Second)
			g.Expect(f.Owners()).To(HaveKey("s"))
			bubble.Sleep(5 * time.Second)
			g.Expect(f.Target.Polls("s")).To(HaveLen(2))
			g.Expect(f.Target.Overlaps()).To(BeEmpty())
		})
	})

	It("takes it at once where nobody is there who saw it", func() {
		bubble.Run(func(g Gomega) {
			f := nodetest.New(g)
			defer f.Stop()
			starts(g, f, false)
			bubble.Sleep(3 * time.Second)
			g.Expect(f.Owners()).To(HaveKey("s"))
		})
	})

	It("leaves nothing without an owner that had one, and has its share when nobody holds off any more", func() {
		bubble.Run(func(g Gomega) {
			f := nodetest.New(g)
			defer f.Stop()
			f.PutMany(20, 10*time.Second)
			f.Start()
			f.Start()
			bubble.Sleep(40 * time.Second)
			balanced(g, f, 20, 2)
			f.RestartRedis(true)
			bubble.Sleep(3 * time.Second)
			f.Start()
			for range 40 {
				bubble.Sleep(time.Second)
				g.Expect(f.Owners()).To(HaveLen(20))
			}
			balanced(g, f, 20, 3)
			g.Expect(f.Target.Overlaps()).To(BeEmpty())
		})
	})
})
