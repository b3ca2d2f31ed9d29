package node_test

import (
	"context"
	"encoding/json"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"leasehold/internal/bubble"
	"leasehold/internal/nodetest"
	"leasehold/lease"
	"leasehold/node"
)

var _ = Describe("a node's card", func() {
	It("says that the node leaves from when its heartbeat goes until its last poll has ended, and goes then", func() {
		bubble.Run(func(g Gomega) {
			f := nodetest.New(g)
			defer f.Stop()
			f.Target.Set("s0", nodetest.Behavior{Delay: 18 * time.Second})
			f.Put("s0", `{"kind":"http","url":"http://target/","interval":"1h","timeout":"1m"}`)
			m := f.Start(func(c *node.Config) {
				c.Card = &lease.Card{Instance: c.Instance}
				c.HeartbeatTTL, c.HeartbeatInterval = 6*time.Second, 2*time.Second
			})
			read := func() *lease.Card {
				text, err := f.Client.Get(context.Background(), "poll:info:"+m.Name).Bytes()
				if err != nil {
					return nil
				}
				card := new(lease.Card)
				g.Expect(json.Unmarshal(text, card)).To(Succeed())
				return card
			}
			bubble.Sleep(3 * time.Second)
			g.Expect(f.Owners()).To(HaveLen(1))
			g.Expect(read()).To(Equal(&lease.Card{Instance: m.Name}))

			drained := make(chan error)
			go func() { drained <- m.Drain() }()
			for range 15 { // longer than the card lives without being written anew
				bubble.Sleep(time.Second)
				g.Expect(f.Mini.Exists("poll:node:" + m.Name)).To(BeFalse())
				g.Expect(f.Owners()).To(HaveLen(1))
				g.Expect(read()).To(Equal(&lease.Card{Instance: m.Name, Leaving: true}))
			}
			g.Expect(<-drained).To(Succeed())
			g.Expect(f.Owners()).To(BeEmpty())
			g.Expect(read()).To(BeNil())
			bubble.Sleep(10 * time.Second)
			g.Expect(read()).To(BeNil())
		})
	})

	It("is gone with a node that stops as soon as it has started", func() {
		bubble.Run(func(g Gomega) {
			f := nodetest.New(g)
			defer f.Stop()
			m := f.Start(func(c *node.Config) { c.Card = &lease.Card{Instance: c.Instance} })
			g.Expect(m.Drain()).To(Succeed())
			bubble.Sleep(time.Second)
			g.Expect(f.Mini.Exists("poll:info:" + m.Name)).To(BeFalse())
		})
	})
})
