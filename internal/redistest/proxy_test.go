package redistest_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/redis/go-redis/v9"

	"leasehold/internal/redistest"
)

var _ = Describe("a proxy", func() {
	ctx := context.Background()
	start := func() (p *redistest.Proxy, over, direct *redis.Client) {
		s := redistest.StartServer(GinkgoTB())
		p = redistest.StartProxy(GinkgoTB(), s.Addr())
		o := redistest.Options(p.Addr())
		o.ReadTimeout = time.Second // a busy machine answers within it
		over, direct = redis.NewClient(o), s.Client()
		DeferCleanup(func() { _, _ = over.Close(), direct.Close() })
		Expect(over.Ping(ctx).Err()).To(Succeed())
		return p, over, direct
	}

	It("loses one reply of a command that took effect, and no other", func() {
		p, over, direct := start()
		lost := p.LoseReply(`(?i)incr\r\n\$\d+\r\nn\r\n`)
		Expect(over.Incr(ctx, "other").Err()).To(Succeed())
		Expect(lost).NotTo(BeClosed())
		Expect(over.Incr(ctx, "n").Err()).To(HaveOccurred())
		Expect(lost).To(BeClosed())
		Expect(direct.Get(ctx, "n").Val()).To(Equal("1"))
		Expect(over.Incr(ctx, "n").Val()).To(Equal(int64(2)))
	})

	It("answers matching commands with an error that the server never sees, each of a pipeline", func() {
		p, over, direct := start()
		p.Answer(`(?i)\r\nset\r\n`, "OOM injected")
		Expect(over.Set(ctx, "k", "v", 0).Err()).To(MatchError("OOM injected"))
		cmds, err := over.Pipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.Set(ctx, "k", "v", 0)
			pipe.Set(ctx, "l", "v", 0)
			return nil
		})
		Expect(err).To(MatchError("OOM injected"))
		Expect(cmds[1].Err()).To(MatchError("OOM injected"))
		Expect(over.Get(ctx, "k").Err()).To(MatchError(redis.Nil))
		p.Heal()
		Expect(over.Set(ctx, "k", "v", 0).Err()).To(Succeed())
		Expect(direct.Exists(ctx, "k", "l").Val()).To(Equal(int64(1)))
	})

	It("cuts the connection of matching commands, unseen by the server", func() {
		p, over, direct := start()
		p.CutOn(`(?i)\r\nset\r\n`)
		Expect(over.Set(ctx, "k", "v", 0).Err()).To(HaveOccurred())
		Expect(over.Ping(ctx).Err()).To(Succeed())
		Expect(direct.Exists(ctx, "k").Val()).To(BeZero())
	})

	It("refuses connections until it heals", func() {
		p, over, _ := start()
		p.Refuse()
		Expect(over.Ping(ctx).Err()).To(HaveOccurred())
		p.Heal()
		Eventually(func() error { return over.Ping(ctx).Err() }, "3s").Should(Succeed())
	})

	It("blocks replies: commands take effect and nobody hears of it", func() {
		p, over, direct := start()
		p.Block(false, true)
		Expect(over.Set(ctx, "k", "v", 0).Err()).To(MatchError(ContainSubstring("timeout")))
		Expect(direct.Exists(ctx, "k").Val()).To(Equal(int64(1)))
		p.Heal()
		Eventually(func() error { return over.Ping(ctx).Err() }, "3s").Should(Succeed())
	})

	It("blocks requests: they arrive late, though their sender gave up", func() {
		p, over, direct := start()
		p.Block(true, false)
		Expect(over.Set(ctx, "k", "v", 0).Err()).To(MatchError(ContainSubstring("timeout")))
		Expect(direct.Exists(ctx, "k").Val()).To(BeZero())
		p.Heal()
		Eventually(func() int64 { return direct.Exists(ctx, "k").Val() }, "3s").Should(Equal(int64(1)))
	})

	It("delays replies", func() {
		p, over, _ := start()
		p.Delay(100 * time.Millisecond)
		at := time.Now()
		Expect(over.Ping(ctx).Err()).To(Succeed())
		Expect(time.Since(at)).To(BeNumerically(">=", 100*time.Millisecond))
	})

	It("leads new connections elsewhere and leaves open ones where they are", func() {
		p, over, direct := start()
		other := redistest.StartServer(GinkgoTB())
		p.Retarget(other.Addr())
		Expect(over.Set(ctx, "k", "v", 0).Err()).To(Succeed())
		Expect(direct.Exists(ctx, "k").Val()).To(Equal(int64(1)))
		p.Drop()
		Eventually(func() error { return over.Get(ctx, "k").Err() }, "3s").Should(MatchError(redis.Nil))
	})
})
