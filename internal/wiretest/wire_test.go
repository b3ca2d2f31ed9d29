package wiretest_test

import (
	"context"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/redis/go-redis/v9"

	"leasehold/internal/redistest"
	"leasehold/internal/wiretest"
)

func TestWiretest(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "internal/wiretest")
}

// heard keeps what a wire tells.
type heard struct {
	mu  sync.Mutex
	all []wiretest.Exchange
}

func (h *heard) tap(e wiretest.Exchange) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all = append(h.all, e)
}

// of returns what was told of commands with this first argument.
func (h *heard) of(name string) []wiretest.Exchange {
	h.mu.Lock()
	defer h.mu.Unlock()
	var found []wiretest.Exchange
	for _, e := range h.all {
		if len(e.Args) > 0 && e.Args[0] == name {
			found = append(found, e)
		}
	}
	return found
}

var _ = Describe("a wire", func() {
	var (
		ctx    context.Context
		server *redistest.Server
		told   *heard
		wire   *wiretest.Wire
		direct *redis.Client
		client *redis.Client
	)
	BeforeEach(func() {
		ctx = context.Background()
		server = redistest.StartServer(GinkgoTB())
		told = &heard{}
		wire = wiretest.Start(GinkgoTB(), server.Addr(), told.tap)
		direct = server.Client()
		o := redistest.Options(wire.Addr())
		o.ReadTimeout = 200 * time.Millisecond
		client = redis.NewClient(o)
		DeferCleanup(func() { _, _ = client.Close(), direct.Close() })
		Expect(client.Ping(ctx).Err()).To(Succeed())
	})

	It("tells each command of a pipeline with its own reply", func() {
		from := time.Now()
		_, err := client.Pipelined(ctx, func(p redis.Pipeliner) error {
			p.Set(ctx, "k", "v\r\n", 0)
			p.Get(ctx, "k")
			p.Get(ctx, "missing")
			p.HGet(ctx, "k", "f")
			p.Eval(ctx, "return {1, 'two', {3}}", nil)
			return nil
		})
		Expect(err).To(HaveOccurred())
		to := time.Now()
		Expect(told.of("set")[0].Reply).To(Equal("OK"))
		Expect(told.of("get")[0].Reply).To(Equal("v\r\n"))
		Expect(told.of("get")[1].Reply).To(BeNil())
		Expect(told.of("hget")[0].Reply).To(BeAssignableToTypeOf(wiretest.ReplyError("")))
		Expect(told.of("eval")[0].Reply).To(Equal([]any{int64(1), "two", []any{int64(3)}}))
		for _, e := range told.all[len(told.all)-5:] {
			Expect(e.Known).To(BeTrue())
			Expect(e.Call).To(BeTemporally(">=", from))
			Expect(e.Return).To(BeTemporally("<=", to))
			Expect(e.Return).To(BeTemporally(">=", e.Call))
		}
	})

	It("carries subscriptions", func() {
		sub := client.Subscribe(ctx, "ch")
		defer func() { _ = sub.Close() }()
		_, err := sub.Receive(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(direct.Publish(ctx, "ch", "hello").Val()).To(Equal(int64(1)))
		msg, err := sub.ReceiveMessage(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(msg.Payload).To(Equal("hello"))
		Expect(told.of("subscribe")).To(BeEmpty(), "what is published belongs to no command")
	})

	It("loses commands: they never take effect and are not told", func() {
		wire.Set(wiretest.Lose, wiretest.Pass)
		Expect(client.Incr(ctx, "n").Err()).To(MatchError(ContainSubstring("timeout")))
		wire.Heal()
		Eventually(func() int64 { return client.Incr(ctx, "n").Val() }).Should(Equal(int64(1)))
		Expect(told.of("incr")).To(HaveLen(1))
	})

	It("loses replies: the commands took effect, and what they were answered is told", func() {
		wire.Set(wiretest.Pass, wiretest.Lose)
		Expect(client.Incr(ctx, "n").Err()).To(MatchError(ContainSubstring("timeout")))
		Expect(direct.Get(ctx, "n").Val()).To(Equal("1"))
		Eventually(func() []wiretest.Exchange { return told.of("incr") }).Should(HaveLen(1))
		Expect(told.of("incr")[0].Reply).To(Equal(int64(1)))
		wire.Heal()
		Eventually(func() int64 { return client.Incr(ctx, "n").Val() }).Should(Equal(int64(2)))
	})

	It("holds commands: they take effect when it passes them, after their time", func() {
		o := redistest.Options(wire.Addr())
		patient := redis.NewClient(o)
		defer func() { _ = patient.Close() }()
		Expect(patient.Ping(ctx).Err()).To(Succeed())
		wire.Set(wiretest.Hold, wiretest.Pass)
		done := make(chan error, 1)
		go func() { done <- patient.Incr(ctx, "n").Err() }()
		Consistently(func() int64 { return direct.Exists(ctx, "n").Val() }, "300ms").Should(BeZero())
		passed := time.Now()
		wire.Heal()
		Expect(<-done).To(Succeed())
		Expect(direct.Get(ctx, "n").Val()).To(Equal("1"))
		Expect(told.of("incr")[0].Call).To(BeTemporally(">=", passed))
	})

	It("says that the outcome is unknown where the connection ended first", func() {
		server.Pause()
		done := make(chan error, 1)
		go func() { done <- client.Incr(ctx, "n").Err() }()
		Expect(<-done).To(HaveOccurred())
		wire.Drop()
		Eventually(func() []wiretest.Exchange { return told.of("incr") }).Should(HaveLen(1))
		Expect(told.of("incr")[0].Known).To(BeFalse())
		server.Continue()
	})

	It("hears the answer to a client that has gone", func() {
		server.Pause()
		Expect(client.Incr(ctx, "n").Err()).To(HaveOccurred())
		Expect(client.Close()).To(Succeed())
		server.Continue()
		Eventually(func() []wiretest.Exchange { return told.of("incr") }).Should(HaveLen(1))
		Expect(told.of("incr")[0].Reply).To(Equal(int64(1)))
	})
})
