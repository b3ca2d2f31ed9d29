package redistest_test

import (
	"context"
	"math/rand/v2"
	"strconv"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/redis/go-redis/v9"

	"leasehold/internal/bubble"
	"leasehold/internal/redistest"
)

// later does something beside the spec and returns the error that it ends with.
func later(do func() error) <-chan error {
	ended := make(chan error, 1)
	go func() { ended <- do() }()
	return ended
}

// subscribed returns a subscription that is in place, over the client.
func subscribed(g Gomega, c *redis.Client, channel string) *redis.PubSub {
	sub := c.Subscribe(context.Background(), channel)
	_, err := sub.Receive(context.Background())
	g.Expect(err).NotTo(HaveOccurred())
	return sub
}

// opened returns a client whose connection is open.
func opened(g Gomega, l *redistest.Link) *redis.Client {
	c := l.Client()
	g.Expect(c.Ping(context.Background()).Err()).To(Succeed())
	return c
}

var _ = Describe("a link with faults of one way", func() {
	ctx := context.Background()

	It("is mute: commands never take effect, and what the server says by itself arrives", func() {
		inBubble(func(g Gomega, m *redistest.Mini, l *redistest.Link) {
			c := opened(g, l)
			defer func() { _ = c.Close() }()
			sub := subscribed(g, c, "ch")
			defer func() { _ = sub.Close() }()
			l.Mute()
			g.Expect(c.Set(ctx, "k", "1", 0).Err()).To(MatchError(ContainSubstring("timeout")))
			g.Expect(m.Publish("ch", "hello")).To(Equal(1))
			g.Expect(sub.ReceiveMessage(ctx)).To(HaveField("Payload", "hello"))
			l.Heal()
			bubble.Sleep(time.Minute)
			g.Expect(m.Exists("k")).To(BeFalse())
			g.Expect(c.Set(ctx, "k", "2", 0).Err()).To(Succeed())
		})
	})

	It("delays commands and replies, in their order", func() {
		inBubble(func(g Gomega, m *redistest.Mini, l *redistest.Link) {
			c := opened(g, l)
			defer func() { _ = c.Close() }()
			l.Delay(100*time.Millisecond, 50*time.Millisecond, rand.New(rand.NewPCG(1, 1)))
			start := time.Now()
			set := later(func() error { return c.Set(ctx, "k", "1", 0).Err() })
			bubble.Sleep(99 * time.Millisecond)
			g.Expect(m.Exists("k")).To(BeFalse())
			bubble.Sleep(51 * time.Millisecond)
			g.Expect(m.Exists("k")).To(BeTrue())
			g.Expect(<-set).To(Succeed())
			g.Expect(time.Since(start)).To(BeNumerically("~", 250*time.Millisecond, 50*time.Millisecond))

			cmds, err := c.Pipelined(ctx, func(p redis.Pipeliner) error {
				for i := range 1000 { // several segments
					p.Set(ctx, "last", strconv.Itoa(i), 0)
				}
				p.Get(ctx, "last")
				return nil
			})
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(cmds[1000].(*redis.StringCmd).Val()).To(Equal("999"))
			l.Delay(0, 0, nil)
			start = time.Now()
			g.Expect(c.Ping(ctx).Err()).To(Succeed())
			g.Expect(time.Since(start)).To(BeZero())
		})
	})

	It("lets a subscription go deaf that both sides believe in, and nothing else", func() {
		inBubble(func(g Gomega, _ *redistest.Mini, l *redistest.Link) {
			c := opened(g, l)
			defer func() { _ = c.Close() }()
			sub := subscribed(g, c, "ch")
			g.Expect(l.DeafSubscription()).To(Equal(1))
			g.Expect(c.Publish(ctx, "ch", "lost").Val()).To(Equal(int64(1)))
			_, err := sub.ReceiveTimeout(ctx, time.Hour)
			g.Expect(err).To(MatchError(ContainSubstring("timeout")))
			_ = sub.Close()
			again := subscribed(g, c, "ch")
			defer func() { _ = again.Close() }()
			g.Expect(c.Publish(ctx, "ch", "heard").Val()).To(Equal(int64(2)), "the server knows of no end")
			g.Expect(again.ReceiveMessage(ctx)).To(HaveField("Payload", "heard"))
		})
	})

	It("answers the commands named with an error, and only those", func() {
		inBubble(func(g Gomega, m *redistest.Mini, l *redistest.Link) {
			c, other := opened(g, l), m.Client()
			defer func() { _, _ = c.Close(), other.Close() }()
			l.Fail("READONLY not here", "SET")
			g.Expect(c.Set(ctx, "k", "1", 0).Err()).To(MatchError("READONLY not here"))
			g.Expect(m.Exists("k")).To(BeFalse())
			g.Expect(c.Ping(ctx).Err()).To(Succeed())
			g.Expect(other.Set(ctx, "k", "1", 0).Err()).To(Succeed())
			l.Fail("")
			g.Expect(c.Set(ctx, "k", "2", 0).Err()).To(Succeed())
		})
	})

	It("kills some connections of several", func() {
		inBubble(func(g Gomega, m *redistest.Mini, l *redistest.Link) {
			c := opened(g, l)
			defer func() { _ = c.Close() }()
			subs := []*redis.PubSub{subscribed(g, c, "a"), subscribed(g, c, "a"), subscribed(g, c, "a")}
			g.Expect(l.Connections()).To(Equal(4))
			l.KillConnections(2, nil) // the command's, and the first subscription's
			g.Expect(l.Connections()).To(Equal(2))
			g.Expect(m.PubSubNumSub("a")).To(HaveKeyWithValue("a", 2))
			g.Expect(c.Ping(ctx).Err()).To(HaveOccurred())
			g.Expect(c.Ping(ctx).Err()).To(Succeed())
			for _, s := range subs {
				_ = s.Close()
			}
			g.Expect(m.PubSubNumSub("a")).To(HaveKeyWithValue("a", 0))
		})
	})
})

var _ = Describe("the process behind a link", func() {
	ctx := context.Background()

	It("stands still: it neither sends nor reads, and goes on where it stood", func() {
		inBubble(func(g Gomega, m *redistest.Mini, l *redistest.Link) {
			c, other := opened(g, l), opened(g, l)
			defer func() { _, _ = c.Close(), other.Close() }()
			sub := subscribed(g, c, "ch")
			defer func() { _ = sub.Close() }()
			l.Delay(50*time.Millisecond, 0, nil)
			sent := later(func() error { return c.Set(ctx, "sent", "1", 0).Err() })
			bubble.Sleep(time.Millisecond)
			l.Suspend()
			heard := later(func() error { _, err := sub.ReceiveMessage(ctx); return err })
			held := later(func() error { return other.Set(ctx, "held", "1", 0).Err() })
			m.Publish("ch", "waits")
			bubble.Sleep(time.Hour)
			g.Expect(m.Exists("sent")).To(BeTrue(), "it was under way")
			g.Expect(m.Exists("held")).To(BeFalse())
			g.Expect(sent).NotTo(Receive())
			g.Expect(heard).NotTo(Receive())
			g.Expect(held).NotTo(Receive())
			l.Resume()
			bubble.Sleep(50 * time.Millisecond)
			g.Expect(<-heard).To(Succeed())
			g.Expect(m.Exists("held")).To(BeTrue(), "about to be sent, it is sent, however late")
			g.Expect(<-sent).To(Succeed(), "its answer lay in the buffer")
			bubble.Sleep(time.Second)
			g.Expect(held).To(Receive())
		})
	})

	It("hears, when it goes on, that the server has closed meanwhile", func() {
		inBubble(func(g Gomega, m *redistest.Mini, l *redistest.Link) {
			c := opened(g, l)
			defer func() { _ = c.Close() }()
			sub := subscribed(g, c, "ch")
			defer func() { _ = sub.Close() }()
			l.Suspend()
			heard := later(func() error { _, err := sub.Receive(ctx); return err })
			bubble.Sleep(time.Second)
			m.DropAll()
			bubble.Sleep(time.Second)
			g.Expect(heard).NotTo(Receive())
			l.Resume()
			bubble.Sleep(time.Second)
			g.Expect(heard).To(Receive(HaveOccurred()))
		})
	})

	It("is killed: what it sent takes effect, nothing else does, and Redis sees the end", func() {
		inBubble(func(g Gomega, m *redistest.Mini, l *redistest.Link) {
			c := opened(g, l)
			defer func() { _ = c.Close() }()
			sub := subscribed(g, c, "ch")
			defer func() { _ = sub.Close() }()
			l.Delay(50*time.Millisecond, 0, nil)
			sent := later(func() error { return c.Set(ctx, "sent", "1", 0).Err() })
			bubble.Sleep(time.Millisecond)
			l.Kill()
			g.Expect(<-sent).To(HaveOccurred())
			l.Heal()
			g.Expect(c.Set(ctx, "k", "1", 0).Err()).To(HaveOccurred())
			bubble.Sleep(time.Minute)
			g.Expect(m.Exists("sent")).To(BeTrue())
			g.Expect(m.Exists("k")).To(BeFalse())
			g.Expect(m.Publish("ch", "nobody")).To(BeZero())
		})
	})

	It("vanishes: the same, and Redis sees nothing", func() {
		inBubble(func(g Gomega, m *redistest.Mini, l *redistest.Link) {
			c := opened(g, l)
			defer func() { _ = c.Close() }()
			sub := subscribed(g, c, "ch")
			defer func() { _ = sub.Close() }()
			l.Delay(50*time.Millisecond, 0, nil)
			sent := later(func() error { return c.Set(ctx, "sent", "1", 0).Err() })
			bubble.Sleep(time.Millisecond)
			l.Vanish()
			g.Expect(<-sent).To(HaveOccurred())
			bubble.Sleep(time.Minute)
			g.Expect(m.Exists("sent")).To(BeTrue())
			g.Expect(m.Publish("ch", "to nobody")).To(Equal(1))
			g.Expect(c.Set(ctx, "k", "1", 0).Err()).To(HaveOccurred())
			g.Expect(m.Exists("k")).To(BeFalse())
		})
	})
})

var _ = Describe("a Mini as a whole", func() {
	ctx := context.Background()

	It("is down for all, also for links made meanwhile, but not for its own client", func() {
		inBubble(func(g Gomega, m *redistest.Mini, l *redistest.Link) {
			c, own := opened(g, l), m.Client()
			defer func() { _, _ = c.Close(), own.Close() }()
			m.Down()
			late := m.Link().Client()
			defer func() { _ = late.Close() }()
			l.Heal()
			g.Expect(c.Ping(ctx).Err()).To(HaveOccurred())
			g.Expect(late.Ping(ctx).Err()).To(HaveOccurred())
			g.Expect(own.Ping(ctx).Err()).To(Succeed())
			m.Up()
			g.Expect(c.Ping(ctx).Err()).To(Succeed())
			g.Expect(late.Ping(ctx).Err()).To(Succeed())
		})
	})

	It("hangs: nothing answers, and what was sent takes effect afterwards", func() {
		inBubble(func(g Gomega, m *redistest.Mini, l *redistest.Link) {
			c := opened(g, l)
			m.Hang()
			g.Expect(c.Set(ctx, "late", "1", 0).Err()).To(MatchError(ContainSubstring("timeout")))
			g.Expect(c.Close()).To(Succeed())
			g.Expect(m.Exists("late")).To(BeFalse())
			m.Up()
			g.Expect(m.Exists("late")).To(BeTrue())
		})
	})

	It("restarts with its data: TTLs go on, scripts and connections are gone", func() {
		inBubble(func(g Gomega, m *redistest.Mini, l *redistest.Link) {
			c := opened(g, l)
			defer func() { _ = c.Close() }()
			everyKind(g, c)
			sha := c.ScriptLoad(ctx, "return 1").Val()
			before := dump(g, c)
			bubble.Sleep(10 * time.Second)
			m.Reload()
			g.Expect(c.Ping(ctx).Err()).To(HaveOccurred())
			g.Expect(dump(g, c)).To(Equal(before))
			g.Expect(c.TTL(ctx, "string").Val()).To(Equal(50 * time.Second))
			g.Expect(c.EvalSha(ctx, sha, nil).Err()).To(MatchError(ContainSubstring("NOSCRIPT")))
			bubble.Sleep(50 * time.Second)
			g.Expect(m.Exists("string")).To(BeFalse())
		})
	})

	It("is replaced by one with the data of a moment before, or with none", func() {
		inBubble(func(g Gomega, m *redistest.Mini, l *redistest.Link) {
			c := opened(g, l)
			defer func() { _ = c.Close() }()
			everyKind(g, c)
			g.Expect(c.Set(ctx, "short", "1", time.Second).Err()).To(Succeed())
			before := dump(g, c)
			s := m.Snapshot()
			bubble.Sleep(2 * time.Second)
			g.Expect(c.Set(ctx, "string", "newer", time.Hour).Err()).To(Succeed())
			g.Expect(c.HSet(ctx, "hash", "f", "newer", "h", "new").Err()).To(Succeed())
			g.Expect(c.Del(ctx, "set").Err()).To(Succeed())
			m.Replace(s)
			g.Expect(c.Ping(ctx).Err()).To(HaveOccurred())
			delete(before, "short") // its TTL has gone on
			g.Expect(dump(g, c)).To(Equal(before))
			g.Expect(c.TTL(ctx, "string").Val()).To(Equal(58 * time.Second))
			m.Replace(nil)
			g.Expect(m.Keys()).To(BeEmpty())
		})
	})
})

// everyKind writes a key of every kind.
func everyKind(g Gomega, c *redis.Client) {
	ctx := context.Background()
	_, err := c.Pipelined(ctx, func(p redis.Pipeliner) error {
		p.Set(ctx, "string", "v", time.Minute)
		p.HSet(ctx, "hash", "f", "1", "g", "2")
		p.RPush(ctx, "list", "a", "b", "a")
		p.SAdd(ctx, "set", "x", "y")
		p.ZAdd(ctx, "zset", redis.Z{Score: 1.5, Member: "m"}, redis.Z{Score: 2, Member: "n"})
		p.XAdd(ctx, &redis.XAddArgs{Stream: "stream", ID: "1-1", Values: []string{"k", "v"}})
		return nil
	})
	g.Expect(err).NotTo(HaveOccurred())
}

// dump reads all keys.
func dump(g Gomega, c *redis.Client) map[string]any {
	ctx := context.Background()
	all := map[string]any{}
	var keys []string
	g.Eventually(func() (err error) { keys, err = c.Keys(ctx, "*").Result(); return err }).Should(Succeed())
	for _, key := range keys {
		switch c.Type(ctx, key).Val() {
		case "hash":
			all[key] = c.HGetAll(ctx, key).Val()
		case "list":
			all[key] = c.LRange(ctx, key, 0, -1).Val()
		case "set":
			all[key] = c.SMembers(ctx, key).Val()
		case "zset":
			all[key] = c.ZRangeWithScores(ctx, key, 0, -1).Val()
		case "stream":
			all[key] = c.XRange(ctx, key, "-", "+").Val()
		default:
			all[key] = c.Get(ctx, key).Val()
		}
	}
	return all
}
