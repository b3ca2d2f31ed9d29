package node_test

import (
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"leasehold/internal/bubble"
	"leasehold/internal/nodetest"
)

var _ = Describe("the state of a session without a document", func() {
	// sweeps is when two sweeps have been, wherever the node that sweeps was in its turn.
	const sweeps = 2*100*time.Second + 20*time.Second
	states := func(f *nodetest.Fleet) (ids []string) {
		for _, key := range f.Mini.Keys() {
			if strings.HasPrefix(key, "poll:state:") {
				ids = append(ids, key[strings.LastIndex(key, "}")+1:])
			}
		}
		return ids
	}

	It("goes, whoever has died as the document went", func() {
		bubble.Run(func(g Gomega) {
			f := nodetest.New(g)
			defer f.Stop()
			const every = `{"url":"http://192.0.2.1/","interval":1}`
			for _, id := range []string{"broken", "paused", "stopped", "orphan", "kept", "kept-paused"} {
				f.Put(id, every)
			}
			a := f.Start()
			bubble.Sleep(20 * time.Second)
			f.Put("broken", `{"url":5}`)
			f.Put("paused", `{"url":"http://192.0.2.1/","interval":1,"paused":true}`)
			f.Put("kept-paused", `{"url":"http://192.0.2.1/","interval":1,"paused":true}`)
			f.Mini.HSet("poll:state:{poll:lease:by-hand}by-hand", "version", "7") // a lease needs no document
			b := f.Start()
			bubble.Sleep(20 * time.Second)
			f.Remove("broken")
			g.Expect(a.Drain()).To(Succeed())
			f.Remove("paused")
			f.Remove("stopped")
			bubble.Sleep(time.Second)
			b.Kill()
			f.Remove("orphan") // is still leased, and nobody is there
			g.Expect(states(f)).To(ContainElement("orphan"))
			f.Start()
			f.Start()
			bubble.Sleep(sweeps)
			g.Expect(states(f)).To(ConsistOf("kept", "kept-paused", "by-hand"))
			g.Expect(f.Owners()).To(HaveKey("kept"))
		})
	})

	It("stays while the document is only being replaced", func() {
		bubble.Run(func(g Gomega) {
			f := nodetest.New(g)
			defer f.Stop()
			const paused = `{"url":"http://192.0.2.1/","interval":1,"paused":true}`
			f.Put("s", `{"url":"http://192.0.2.1/","interval":1}`)
			m := f.Start()
			bubble.Sleep(5 * time.Second)
			f.Put("s", paused)
			bubble.Sleep(time.Second)
			g.Expect(m.Drain()).To(Succeed())
			f.Remove("s")
			f.Start()
			bubble.Sleep(150 * time.Second) // one sweep has been
			f.Put("s", paused)
			bubble.Sleep(sweeps)
			g.Expect(states(f)).To(ConsistOf("s"))
		})
	})
})
