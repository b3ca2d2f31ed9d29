package poller_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"leasehold/actors/poller"
	"leasehold/internal/bubble"
	"leasehold/lease"
	"leasehold/results"
)

// drawer is a sink that keeps what it gets, or hangs.
type drawer struct {
	hang bool

	mu  sync.Mutex
	got []results.Message
}

func (*drawer) Name() string { return "drawer" }
func (*drawer) Lanes() int   { return 1 }
func (d *drawer) Deliver(ctx context.Context, m results.Message) error {
	if d.hang {
		<-ctx.Done()
		return ctx.Err()
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.got = append(d.got, m)
	return nil
}

var _ = Describe("the result of a poll", func() {
	hub := func(b *bench, d *drawer) *results.Hub {
		h := results.NewHub(context.Background(), nil, d)
		b.deps.Results = h
		return h
	}

	It("goes to Redis and, once that took it, to the sinks, as one and the same event", func() {
		run(func(g Gomega, b *bench) {
			d := &drawer{}
			h := hub(b, d)
			due := b.began.Add(-2 * time.Second)
			b.stub.begin = func(lease.Slot) (lease.Start, error) {
				return lease.Start{At: b.began, Due: due, Sequence: 41}, nil
			}
			b.stub.poll = func(context.Context) poller.Outcome {
				return poller.Outcome{OK: true, Class: poller.Success, Status: 200, Bytes: 5, Body: []byte("hello")}
			}
			b.start(doc(), 0)
			bubble.Sleep(time.Second)
			g.Expect(d.got).To(HaveLen(1))
			g.Expect(b.stub.see().results[0].Event).To(Equal(d.got[0].JSON))
			var e results.Event
			g.Expect(json.Unmarshal(d.got[0].JSON, &e)).To(Succeed())
			g.Expect(e.ID).To(Equal("s/7/41"))
			g.Expect(e.Data.Scheduled).To(BeTemporally("==", due))
			g.Expect(e.Data.DelayMS).To(Equal(int64(2000)))
			g.Expect(e.Data.Body).To(Equal("hello"))
			g.Expect(h.Stats().Recorded).To(Equal(uint64(1)))
		})
	})

	It("is counted and goes to no sink when the fence refuses it, nor when Redis has no answer", func() {
		for fenced, err := range []error{errRedis, fmt.Errorf("old token: %w", lease.ErrLost)} {
			run(func(g Gomega, b *bench) {
				d := &drawer{}
				h := hub(b, d)
				b.stub.finish = func(lease.Result) error { return err }
				b.start(doc(), 0)
				bubble.Sleep(interval / 2)
				g.Expect(b.stub.see().polls).To(HaveLen(1))
				g.Expect(d.got).To(BeEmpty())
				g.Expect(h.Stats().Recorded).To(BeZero())
				g.Expect(h.Stats().Fenced).To(Equal(uint64(fenced)))
			})
		}
	})

	It("delays no poll when its sink hangs", func() {
		run(func(g Gomega, b *bench) {
			h := hub(b, &drawer{hang: true})
			over, cancel := context.WithCancel(context.Background())
			cancel()
			defer h.Close(over)
			b.start(doc(), 0)
			bubble.Sleep(3*interval + time.Second)
			// It slews by a fiftieth a slot.
			g.Expect(b.at(b.stub.see().polls)).To(Equal(seconds(0, 10.2, 20.4, 30.6)))
			g.Expect(h.Stats().Recorded).To(Equal(uint64(4)))
		})
	})
})
