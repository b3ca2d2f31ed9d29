package poller_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"golang.org/x/sync/semaphore"

	"leasehold/actors/poller"
	"leasehold/internal/bubble"
)

// oneHost lets one poll of all hosts together be in flight, and keeps the URLs.
type oneHost struct {
	places *semaphore.Weighted
	urls   chan string
}

func (h oneHost) Acquire(ctx context.Context, url string) (func(), error) {
	h.urls <- url
	if err := h.places.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	return func() { h.places.Release(1) }, nil
}

var _ = Describe("A poll whose host is busy", func() {
	busy := func(b *bench) oneHost {
		h := oneHost{places: semaphore.NewWeighted(1), urls: make(chan string, 100)}
		Expect(h.places.TryAcquire(1)).To(BeTrue())
		b.deps.Hosts = h
		b.deps.Gate = semaphore.NewWeighted(1)
		return h
	}

	It("waits without a place among the polls in flight, and gives the host's back when it has ended", func() {
		run(func(g Gomega, b *bench) {
			h := busy(b)
			b.start(doc(), 0)
			bubble.Sleep(2 * time.Second)
			g.Expect(b.stub.see().begins).To(BeEmpty(), "Redis is not asked before the poll may be sent")
			g.Expect(<-h.urls).To(Equal(doc().URL))
			gate := b.deps.Gate.(*semaphore.Weighted) //nolint:forcetypeassert // set above
			g.Expect(gate.TryAcquire(1)).To(BeTrue(), "polls of other hosts have room")
			gate.Release(1)
			h.places.Release(1)
			bubble.Sleep(time.Millisecond)
			g.Expect(b.stub.see().begins).To(HaveLen(1))
			g.Expect(h.places.TryAcquire(1)).To(BeTrue(), "the poll has ended")
		})
	})

	It("does not start after its lease is to be given back", func() {
		run(func(g Gomega, b *bench) {
			h := busy(b)
			b.start(doc(), 0)
			bubble.Sleep(time.Second)
			b.tell(&poller.Stop{})
			g.Expect(b.terminated()).To(BeTrue())
			h.places.Release(1)
			bubble.Sleep(time.Minute)
			g.Expect(b.stub.see().begins).To(BeEmpty())
		})
	})
})
