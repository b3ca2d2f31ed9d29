package redistest_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/redis/go-redis/v9"

	"leasehold/internal/redistest"
)

var _ = Describe("subscriptions", func() {
	ctx := context.Background()

	It("hear what is published to their channels and patterns, in order, until they are given up", func() {
		inBubble(func(g Gomega, m *redistest.Mini, l *redistest.Link) {
			c := opened(g, l)
			defer func() { _ = c.Close() }()
			sub := subscribed(g, c, "a")
			defer func() { _ = sub.Close() }()
			g.Expect(sub.PSubscribe(ctx, "a*", "__key?[0-2]__:x*y")).To(Succeed())
			for range 2 {
				g.Expect(sub.Receive(ctx)).To(BeAssignableToTypeOf(&redis.Subscription{}))
			}
			g.Expect(c.Publish(ctx, "a", "1").Val()).To(Equal(int64(2)))
			g.Expect(m.Publish("__key@1__:x-y", "2")).To(Equal(1))
			g.Expect(m.Publish("__key@3__:x-y", "no")).To(BeZero())
			g.Expect(c.Eval(ctx, "return redis.call('PUBLISH', 'ab', '3')", nil).Val()).To(Equal(int64(1)))
			var heard []string
			for range 4 {
				message, err := sub.ReceiveMessage(ctx)
				g.Expect(err).NotTo(HaveOccurred())
				heard = append(heard, message.Pattern+" "+message.Channel+" "+message.Payload)
			}
			g.Expect(heard).To(Equal([]string{" a 1", "a* a 1", "__key?[0-2]__:x*y __key@1__:x-y 2", "a* ab 3"}))

			g.Expect(sub.Ping(ctx)).To(Succeed())
			g.Expect(sub.Receive(ctx)).To(BeAssignableToTypeOf(&redis.Pong{}))
			g.Expect(sub.PUnsubscribe(ctx)).To(Succeed())
			for range 2 {
				g.Expect(sub.Receive(ctx)).To(HaveField("Kind", "punsubscribe"))
			}
			g.Expect(m.Publish("a", "4")).To(Equal(1))
			g.Expect(sub.ReceiveMessage(ctx)).To(HaveField("Payload", "4"))
			g.Expect(sub.Unsubscribe(ctx, "a")).To(Succeed())
			g.Expect(sub.Receive(ctx)).To(HaveField("Count", 0))
			g.Expect(m.Publish("a", "5")).To(BeZero())
		})
	})

	It("that do not read keep nobody waiting", func() {
		inBubble(func(g Gomega, m *redistest.Mini, l *redistest.Link) {
			c := opened(g, l)
			defer func() { _ = c.Close() }()
			sub := subscribed(g, c, "a")
			defer func() { _ = sub.Close() }()
			start := time.Now()
			for range 10_000 {
				g.Expect(m.Publish("a", "x")).To(Equal(1))
			}
			g.Expect(time.Since(start)).To(BeZero())
			g.Expect(sub.ReceiveMessage(ctx)).To(HaveField("Payload", "x"))
		})
	})
})
