package membership_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"leasehold/internal/bubble"
	"leasehold/lease"
	"leasehold/redisevents"
	"leasehold/session"
)

// large is a Redis whose keys take long to go through.
type large struct {
	*redis

	takes time.Duration
}

func (l *large) pass(ctx context.Context) error {
	select {
	case <-time.After(l.takes):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (l *large) Scan(ctx context.Context, each func([]session.Document)) error {
	if err := l.pass(ctx); err != nil {
		return err
	}
	return l.redis.Scan(ctx, each)
}

func (l *large) List(ctx context.Context) ([]lease.Member, error) {
	if err := l.pass(ctx); err != nil {
		return nil, err
	}
	return l.redis.List(ctx)
}

// slowly has a membership ask such a Redis, until end is called.
func slowly(takes time.Duration, end *context.CancelFunc) func(*bench) {
	return func(b *bench) {
		ctx, cancel := context.WithCancel(context.Background())
		b.cfg.Context, *end = ctx, cancel //nolint:fatcontext // once
		slow := &large{redis: b.redis, takes: takes}
		b.cfg.Source, b.cfg.Members = slow, slow
	}
}

// over ends what such a Redis is still asked, or will be once more.
func over(b *bench, end *context.CancelFunc) {
	(*end)()
	b.parent.Stop()
	bubble.Sleep(5 * time.Second)
}

var _ = Describe("a look at everything", func() {
	It("may take as long as there are keys", func() {
		var end context.CancelFunc
		run(many(1), func(g Gomega, b *bench) {
			defer over(b, &end)
			bubble.Sleep(2*time.Minute + time.Second)
			g.Expect(b.take()).To(Equal([]string{"made s0"}))
			g.Expect(b.system.Events("reconcile.failed")).To(BeEmpty())
		}, slowly(2*time.Minute, &end))
	})

	It("that fails is told of once, with the reason, until one succeeds", func() {
		var end context.CancelFunc
		run(nil, func(g Gomega, b *bench) {
			defer over(b, &end)
			told := func() []string { return b.system.Events("reconcile.failed") }
			bubble.Sleep(time.Second)
			g.Expect(told()).To(BeEmpty())
			for outage := range 2 {
				b.redis.with(func(r *redis) { r.down = true })
				b.event(redisevents.Gap{})
				bubble.Sleep(time.Minute)
				g.Expect(told()).To(HaveLen(2 * (outage + 1)))
				g.Expect(told()[2*outage:]).To(ConsistOf(
					And(ContainSubstring(`"kind":"member"`), ContainSubstring(errRedis.Error()), ContainSubstring(`"level":"warn"`)),
					And(ContainSubstring(`"kind":"session"`), ContainSubstring(errRedis.Error())),
				))
				b.redis.with(func(r *redis) { r.down = false })
				bubble.Sleep(10 * time.Second)
			}
			g.Expect(told()).To(HaveLen(4))
		}, slowly(time.Millisecond, &end))
	})

	It("that ends with the process says nothing of Redis", func() {
		var end context.CancelFunc
		run(nil, func(g Gomega, b *bench) {
			bubble.Sleep(time.Second)
			defer over(b, &end)
			end()
			bubble.Sleep(time.Second)
			g.Expect(b.system.Events("reconcile.failed")).To(BeEmpty())
		}, slowly(time.Minute, &end))
	})
})
