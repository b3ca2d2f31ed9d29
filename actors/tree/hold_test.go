package tree_test

import (
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"leasehold/actors/tree"
	"leasehold/internal/actortest"
	"leasehold/internal/bubble"
)

var _ = Describe("a system that is held up", func() {
	It("lets no actor handle a message, and loses none", func() {
		bubble.Run(func(g Gomega) {
			s := actortest.NewSystem()
			defer s.Close()
			gate := make(chan struct{})
			tree.Hold(s.ActorSystem, func() { <-gate })
			var made, handled atomic.Int32
			child := s.Root.Spawn(tree.AsRoot(props(s, &made, func(c actor.Context) {
				if _, ok := c.Message().(string); ok {
					handled.Add(1)
				}
			})))
			s.Root.Send(child, "one")
			s.Root.Send(child, "two")
			bubble.Sleep(time.Hour)
			g.Expect(handled.Load()).To(BeZero())
			close(gate)
			bubble.Sleep(0)
			g.Expect(handled.Load()).To(BeEquivalentTo(2))
		})
	})
})
