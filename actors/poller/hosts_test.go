package poller_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"leasehold/actors/poller"
	"leasehold/gate"
	"leasehold/internal/bubble"
)

// oneHost lets one poll of all hosts together be in flight, and keeps the URLs.
type oneHost struct {
	places *gate.Gate
	urls   chan string
}

func (h oneHost) Enter(url string, ready func()) (*gate.Place, bool) {
	h.urls <- url
	return h.places.Enter(ready)
}

var _ = Describe("A poll whose host is busy", func() {
	busy := func(b *bench) (h oneHost, leave func()) {
		h = oneHost{places: gate.New(1), urls: make(chan string, 100)}
		b.deps.Hosts = h
		b.deps.Gate = gate.New(1)
		return h, occupy(h.places, 1)
	}

	It("waits without a place among the polls in flight, and gives the host's back when it has ended", func() {
		run(func(g Gomega, b *bench) {
			h, leave := busy(b)
			b.start(doc(), 0)
			bubble.Sleep(2 * time.Second)
			g.Expect(b.stub.see().begins).To(BeEmpty(), "Redis is not asked before the poll may be sent")
			g.Expect(<-h.urls).To(Equal(doc().URL))
			occupy(b.deps.Gate, 1)() // polls of other hosts have room
			leave()
			bubble.Sleep(time.Millisecond)
			g.Expect(b.stub.see().begins).To(HaveLen(1))
			occupy(h.places, 1) // the poll has ended
		})
	})

	It("keeps its host's place while it waits for one among the polls in flight", func() {
		run(func(g Gomega, b *bench) {
			h, leave := busy(b)
			leaveGate := occupy(b.deps.Gate, 1)
			b.start(doc(), 0)
			leave()
			bubble.Sleep(time.Second)
			_, in := h.places.Enter(func() {})
			g.Expect(in).To(BeFalse())
			g.Expect(b.stub.see().begins).To(BeEmpty())
			leaveGate()
			bubble.Sleep(time.Millisecond)
			g.Expect(b.stub.see().begins).To(HaveLen(1))
		})
	})

	It("does not start after its lease is to be given back", func() {
		run(func(g Gomega, b *bench) {
			h, leave := busy(b)
			b.start(doc(), 0)
			bubble.Sleep(time.Second)
			b.tell(&poller.Stop{})
			g.Expect(b.terminated()).To(BeTrue())
			leave()
			bubble.Sleep(time.Minute)
			g.Expect(b.stub.see().begins).To(BeEmpty())
			occupy(h.places, 1)
			occupy(b.deps.Gate, 1)
		})
	})
})
