package redistest_test

import (
	"context"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/redis/go-redis/v9"

	"leasehold/internal/bubble"
	"leasehold/internal/redistest"
)

func TestRedistest(t *testing.T) {
	bubble.Bind(t)
	RegisterFailHandler(Fail)
	RunSpecs(t, "internal/redistest")
}

// inBubble runs f with a Mini and a link of it.
func inBubble(f func(g Gomega, m *redistest.Mini, l *redistest.Link)) {
	GinkgoHelper()
	bubble.Run(func(g Gomega) {
		m := redistest.NewMini()
		defer m.Close()
		f(g, m, m.Link())
	})
}

var _ = Describe("a Mini", func() {
	ctx := context.Background()

	It("ends TTLs by the bubble's clock", func() {
		inBubble(func(g Gomega, m *redistest.Mini, _ *redistest.Link) {
			c := m.Client()
			defer func() { _ = c.Close() }()
			g.Expect(c.Set(ctx, "k", "v", 30*time.Second).Err()).To(Succeed())
			bubble.Sleep(29999 * time.Millisecond)
			g.Expect(c.Exists(ctx, "k").Val()).To(Equal(int64(1)))
			bubble.Sleep(2 * time.Millisecond)
			g.Expect(c.Exists(ctx, "k").Val()).To(BeZero())
		})
	})

	It("takes pipelines larger than every buffer", func() {
		inBubble(func(g Gomega, m *redistest.Mini, _ *redistest.Link) {
			c := m.Client()
			defer func() { _ = c.Close() }()
			value := strings.Repeat("x", 1<<20)
			cmds, err := c.Pipelined(ctx, func(p redis.Pipeliner) error {
				for range 8 {
					p.Echo(ctx, value)
				}
				return nil
			})
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(cmds[7].(*redis.StringCmd).Val()).To(Equal(value))
		})
	})

	It("carries subscriptions", func() {
		inBubble(func(g Gomega, m *redistest.Mini, _ *redistest.Link) {
			c := m.Client()
			defer func() { _ = c.Close() }()
			sub := c.Subscribe(ctx, "ch")
			defer func() { _ = sub.Close() }()
			_, err := sub.Receive(ctx)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(c.Publish(ctx, "ch", "hello").Val()).To(Equal(int64(1)))
			msg, err := sub.ReceiveMessage(ctx)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(msg.Payload).To(Equal("hello"))
		})
	})

	It("fails every command on demand", func() {
		inBubble(func(g Gomega, m *redistest.Mini, _ *redistest.Link) {
			c := m.Client()
			defer func() { _ = c.Close() }()
			m.SetError("OOM command not allowed")
			g.Expect(c.Get(ctx, "k").Err()).To(MatchError("OOM command not allowed"))
			m.SetError("")
			g.Expect(c.Get(ctx, "k").Err()).To(MatchError(redis.Nil))
		})
	})
})

var _ = Describe("a link", func() {
	ctx := context.Background()

	It("cuts one client and leaves the others alone", func() {
		inBubble(func(g Gomega, m *redistest.Mini, l *redistest.Link) {
			other, c := m.Client(), l.Client()
			defer func() { _, _ = other.Close(), c.Close() }()
			g.Expect(c.Ping(ctx).Err()).To(Succeed())
			l.Cut()
			g.Expect(c.Ping(ctx).Err()).To(HaveOccurred())
			g.Expect(other.Ping(ctx).Err()).To(Succeed())
			l.Heal()
			g.Eventually(func() error { return c.Ping(ctx).Err() }, "2s").Should(Succeed())
		})
	})

	It("freezes: nothing answers, and what was sent takes effect afterwards", func() {
		inBubble(func(g Gomega, m *redistest.Mini, l *redistest.Link) {
			c := l.Client()
			defer func() { _ = c.Close() }()
			g.Expect(c.Ping(ctx).Err()).To(Succeed())
			l.Freeze()
			start := time.Now()
			g.Expect(c.Set(ctx, "late", "1", 0).Err()).To(MatchError(ContainSubstring("timeout")))
			g.Expect(time.Since(start)).To(Equal(2 * time.Second))
			g.Expect(m.Exists("late")).To(BeFalse())
			l.Heal()
			bubble.Sleep(time.Millisecond)
			g.Expect(m.Exists("late")).To(BeTrue())
		})
	})

	It("deafens: commands take effect and their replies never come", func() {
		inBubble(func(g Gomega, m *redistest.Mini, l *redistest.Link) {
			c := l.Client()
			defer func() { _ = c.Close() }()
			g.Expect(c.Ping(ctx).Err()).To(Succeed())
			l.Deafen()
			g.Expect(c.Set(ctx, "k", "1", 0).Err()).To(MatchError(ContainSubstring("timeout")))
			g.Expect(m.Exists("k")).To(BeTrue())
		})
	})

	It("loses a reply of a command that took effect once", func() {
		inBubble(func(g Gomega, m *redistest.Mini, l *redistest.Link) {
			c := l.Client()
			defer func() { _ = c.Close() }()
			g.Expect(c.Ping(ctx).Err()).To(Succeed())
			l.LoseReplies(1)
			g.Expect(c.Incr(ctx, "n").Err()).To(HaveOccurred())
			bubble.Sleep(time.Second)
			g.Expect(m.Get("n")).To(Equal("1"))
			g.Expect(c.Incr(ctx, "n").Val()).To(Equal(int64(2)))
		})
	})

	It("ends while it is frozen", func() {
		inBubble(func(g Gomega, _ *redistest.Mini, l *redistest.Link) {
			c := l.Client()
			g.Expect(c.Ping(ctx).Err()).To(Succeed())
			l.Freeze()
			g.Expect(c.Ping(ctx).Err()).To(HaveOccurred())
			g.Expect(c.Close()).To(Succeed())
		})
	})
})

var _ = Describe("a Server", func() {
	ctx := context.Background()

	It("stops, starts on the same port, freezes and goes on", func() {
		s := redistest.StartServer(GinkgoTB())
		c := s.Client(func(o *redis.Options) { o.ReadTimeout = 200 * time.Millisecond })
		defer func() { _ = c.Close() }()
		g := NewWithT(GinkgoTB())
		g.Expect(c.Set(ctx, "k", "v", 0).Err()).To(Succeed())
		s.Pause()
		g.Expect(c.Get(ctx, "k").Err()).To(MatchError(ContainSubstring("timeout")))
		s.Continue()
		g.Eventually(func() (string, error) { return c.Get(ctx, "k").Result() }, "5s").Should(Equal("v"))
		s.Kill()
		g.Expect(c.Ping(ctx).Err()).To(HaveOccurred())
		g.Expect(s.Start()).To(Succeed())
		g.Eventually(func() error { return c.Get(ctx, "k").Err() }, "5s").Should(MatchError(redis.Nil))
		s.Stop()
		g.Expect(s.Pid()).To(BeZero())
	})
})

var _ = Describe("a Cluster", func() {
	It("serves every slot", func() {
		c := redistest.StartCluster(GinkgoTB())
		client := c.Client()
		defer func() { _ = client.Close() }()
		for i := range 64 {
			Expect(client.Set(context.Background(), "k"+strings.Repeat("x", i), i, 0).Err()).To(Succeed())
		}
		Expect(c.Addrs()).To(HaveLen(3))
	})
})
