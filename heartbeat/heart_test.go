package heartbeat_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"leasehold/eventlog"
	"leasehold/heartbeat"
	"leasehold/internal/bubble"
	"leasehold/lease"
)

const (
	ttl      = 30 * time.Second
	interval = 10 * time.Second
	margin   = 2 * time.Second
)

var errRedis = errors.New("no answer from Redis")

// stub keeps one heartbeat key.
type stub struct {
	lease.Members

	began time.Time
	ttl   time.Duration
	mu    sync.Mutex
	beats []time.Duration
	left  []time.Duration
	// refusals is how many of the first removals fail.
	refusals int
	beat     func(ctx context.Context) error
}

func (s *stub) Beat(ctx context.Context, instance string, d time.Duration) error {
	if instance != "n1" || d != s.ttl {
		panic("another's heartbeat")
	}
	s.mu.Lock()
	s.beats = append(s.beats, time.Since(s.began))
	beat := s.beat
	s.mu.Unlock()
	return beat(ctx)
}

func (s *stub) Leave(context.Context, string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.left = append(s.left, time.Since(s.began))
	if len(s.left) <= s.refusals {
		return errRedis
	}
	return nil
}

func (s *stub) plan(beat func(context.Context) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.beat = beat
}

func (s *stub) see() []time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.beats
}

func accepted(context.Context) error { return nil }
func refused(context.Context) error  { return errRedis }

func takes(d time.Duration) func(context.Context) error {
	return func(ctx context.Context) error {
		select {
		case <-time.After(d):
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

type bench struct {
	stub  *stub
	heart *heartbeat.Heart
	ctx   context.Context
	mu    sync.Mutex
	said  []string
	buf   bytes.Buffer
	log   *eventlog.Log
	ended bool
}

// changes returns the fencings so far, with their times.
func (b *bench) changes() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.said
}

func (b *bench) over() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.ended
}

// run gives a spec a heart that beats.
func run(f func(g Gomega, b *bench), change ...func(*heartbeat.Config)) {
	GinkgoHelper()
	bubble.Run(func(g Gomega) {
		ctx, cancel := context.WithCancel(context.Background())
		b := &bench{ctx: ctx, stub: &stub{began: time.Now(), ttl: ttl, beat: accepted}}
		b.log = eventlog.New(&b.buf, eventlog.Options{Level: eventlog.Debug})
		cfg := heartbeat.Config{
			Members: b.stub, Instance: "n1", TTL: ttl, Interval: interval, Margin: margin, Log: b.log,
			Fenced: func(fenced bool) {
				b.mu.Lock()
				defer b.mu.Unlock()
				word := map[bool]string{true: "fenced ", false: "unfenced "}[fenced]
				b.said = append(b.said, word+time.Since(b.stub.began).String())
			},
		}
		for _, c := range change {
			c(&cfg)
		}
		b.stub.ttl = cfg.TTL
		b.heart = heartbeat.New(cfg)
		go func() {
			b.heart.Run(ctx)
			b.mu.Lock()
			defer b.mu.Unlock()
			b.ended = true
		}()
		bubble.Sleep(0)
		defer func() {
			cancel()
			bubble.Sleep(time.Minute)
		}()
		f(g, b)
	})
}

// lines counts the log's lines of one event; nothing is logged after it.
func (b *bench) lines(event string) int {
	b.log.Close()
	return strings.Count(b.buf.String(), `"event":"`+event+`"`)
}

func ms(n ...int) []time.Duration {
	var d []time.Duration
	for _, v := range n {
		d = append(d, time.Duration(v)*time.Millisecond)
	}
	return d
}

var _ = Describe("a heart", func() {
	It("beats at once and then every interval", func() {
		run(func(g Gomega, b *bench) {
			bubble.Sleep(35 * time.Second)
			g.Expect(b.stub.see()).To(Equal(ms(0, 10_000, 20_000, 30_000)))
			g.Expect(b.heart.Fresh()).To(BeTrue())
			g.Expect(b.changes()).To(BeEmpty())
		})
	})

	It("counts the interval from the sending of the last beat", func() {
		run(func(g Gomega, b *bench) {
			b.stub.plan(takes(3 * time.Second))
			bubble.Sleep(31 * time.Second)
			g.Expect(b.stub.see()).To(Equal(ms(0, 10_000, 20_000, 30_000)))
		})
	})

	It("is not fresh before its first beat was accepted", func() {
		bubble.Run(func(g Gomega) {
			h := heartbeat.New(heartbeat.Config{TTL: ttl, Interval: interval, Margin: margin})
			g.Expect(h.Fresh()).To(BeFalse())
		})
	})

	It("tries again each twelfth of a TTL of few seconds, so that one comes in time", func() {
		run(func(g Gomega, b *bench) {
			b.stub.plan(refused)
			bubble.Sleep(2100 * time.Millisecond)
			g.Expect(b.stub.see()).To(Equal(ms(0, 1000, 1100, 1300, 1550, 1800, 2050)))
		}, func(c *heartbeat.Config) {
			c.TTL, c.Interval, c.Margin = 3*time.Second, time.Second, 200*time.Millisecond
		})
	})

	It("tries a beat that failed again after 100, 200, 400 ms … up to a second", func() {
		run(func(g Gomega, b *bench) {
			b.stub.plan(refused)
			bubble.Sleep(15 * time.Second)
			g.Expect(b.stub.see()).To(Equal(ms(0, 10_000, 10_100, 10_300, 10_700, 11_500, 12_500, 13_500, 14_500)))
			b.stub.plan(accepted)
			bubble.Sleep(15 * time.Second)
			g.Expect(b.stub.see()[9:]).To(Equal(ms(15_500, 25_500)))
			g.Expect(b.lines("redis.down")).To(Equal(1))
			g.Expect(b.lines("redis.up")).To(Equal(1))
		})
	})

	It("ends with its context, and says nothing of Redis then", func() {
		run(func(g Gomega, b *bench) {
			ctx, cancel := context.WithCancel(context.Background())
			h := heartbeat.New(heartbeat.Config{
				Members: b.stub, Instance: "n1", TTL: ttl, Interval: interval, Margin: margin, Log: b.log,
				Fenced: func(bool) {},
			})
			b.stub.plan(takes(time.Hour))
			done := make(chan struct{})
			go func() {
				defer close(done)
				h.Run(ctx)
			}()
			bubble.Sleep(time.Second)
			cancel()
			bubble.Sleep(0)
			g.Expect(done).To(BeClosed())
			g.Expect(b.lines("redis.down")).To(BeZero())
		})
	})
})

var _ = Describe("the trust in a heartbeat", func() {
	It("ends TTL minus margin after the sending of the last accepted beat, and comes back with the next", func() {
		run(func(g Gomega, b *bench) {
			bubble.Sleep(interval)
			b.stub.plan(refused)
			bubble.Sleep(ttl - margin - 1)
			g.Expect(b.heart.Fresh()).To(BeTrue())
			g.Expect(b.changes()).To(BeEmpty())
			bubble.Sleep(1)
			g.Expect(b.heart.Fresh()).To(BeFalse())
			g.Expect(b.changes()).To(Equal([]string{"fenced 38s"}))
			bubble.Sleep(10 * time.Minute)
			g.Expect(b.changes()).To(HaveLen(1))
			b.stub.plan(accepted)
			bubble.Sleep(time.Second)
			g.Expect(b.changes()).To(HaveLen(2))
			g.Expect(b.changes()[1]).To(MatchRegexp("^unfenced 10m3(8[.]|9s)"), "within a second")
			g.Expect(b.heart.Fresh()).To(BeTrue())
			g.Expect(b.lines("node.fenced")).To(Equal(1))
			g.Expect(b.lines("node.unfenced")).To(Equal(1))
		})
	})

	It("has not begun before the first accepted beat: a node that nobody can see is fenced", func() {
		bubble.Run(func(g Gomega) {
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			s := &stub{began: time.Now(), ttl: ttl, beat: refused}
			var said []string
			h := heartbeat.New(heartbeat.Config{
				Members: s, Instance: "n1", TTL: ttl, Interval: interval, Margin: margin, Log: eventlog.New(io.Discard, eventlog.Options{}),
				Fenced: func(fenced bool) { said = append(said, fmt.Sprint(fenced, time.Since(s.began))) },
			})
			go h.Run(ctx)
			bubble.Sleep(time.Minute)
			g.Expect(said).To(Equal([]string{"true 0s"}))
			s.plan(accepted)
			bubble.Sleep(time.Second)
			g.Expect(said).To(HaveLen(2))
			g.Expect(said[1]).To(HavePrefix("false 1m0."))
			cancel()
			bubble.Sleep(0)
		})
	})

	It("ends on time also while a beat hangs, and counts a slow one from its sending", func() {
		run(func(g Gomega, b *bench) {
			b.stub.plan(takes(time.Hour))
			bubble.Sleep(ttl - margin - 1)
			g.Expect(b.changes()).To(BeEmpty())
			bubble.Sleep(1)
			g.Expect(b.changes()).To(Equal([]string{"fenced 28s"}))
		})
		run(func(g Gomega, b *bench) {
			bubble.Sleep(9 * time.Second)
			b.stub.plan(takes(5 * time.Second)) // sent at 10 s, accepted at 15 s
			bubble.Sleep(7 * time.Second)
			b.stub.plan(refused)
			bubble.Sleep(time.Minute)
			g.Expect(b.changes()).To(Equal([]string{"fenced 38s"}))
		})
	})
})

var _ = Describe("a beat out of turn", func() {
	It("is skipped within half an interval of the last, and moves the next one else", func() {
		run(func(g Gomega, b *bench) {
			bubble.Sleep(5*time.Second - 1)
			g.Expect(b.heart.Beat(b.ctx)).To(Succeed())
			g.Expect(b.stub.see()).To(Equal(ms(0)))
			bubble.Sleep(time.Second + 1)
			g.Expect(b.heart.Beat(b.ctx)).To(Succeed())
			g.Expect(b.stub.see()).To(Equal(ms(0, 6_000)))
			bubble.Sleep(20 * time.Second)
			g.Expect(b.stub.see()).To(Equal(ms(0, 6_000, 16_000, 26_000)))
		})
	})

	It("does not wait for one that is on its way", func() {
		run(func(g Gomega, b *bench) {
			b.stub.plan(takes(5 * time.Second))
			bubble.Sleep(11 * time.Second)
			began := time.Now()
			g.Expect(b.heart.Beat(b.ctx)).To(Succeed())
			g.Expect(time.Since(began)).To(BeZero())
			g.Expect(b.stub.see()).To(HaveLen(2))
		})
	})

	It("reports a failure, and is retried by the heart itself", func() {
		run(func(g Gomega, b *bench) {
			b.stub.plan(refused)
			bubble.Sleep(6 * time.Second)
			g.Expect(b.heart.Beat(b.ctx)).To(MatchError(errRedis))
			bubble.Sleep(100 * time.Millisecond)
			g.Expect(b.stub.see()).To(Equal(ms(0, 6_000, 6_100)))
		})
	})
})

var _ = Describe("a heart that has left", func() {
	It("writes its key no more, and rests", func() {
		run(func(g Gomega, b *bench) {
			bubble.Sleep(time.Second)
			g.Expect(b.heart.Leave(b.ctx)).To(Succeed())
			g.Expect(b.heart.Beat(b.ctx)).To(Succeed())
			bubble.Sleep(time.Hour)
			g.Expect(b.heart.Beat(b.ctx)).To(Succeed())
			g.Expect(b.stub.see()).To(Equal(ms(0)))
			g.Expect(b.stub.left).To(Equal(ms(1_000)))
			g.Expect(b.changes()).To(BeEmpty(), "it is not cut off, it has gone")
			g.Expect(b.over()).To(BeTrue())
		})
	})

	It("tries four times to remove its key", func() {
		run(func(g Gomega, b *bench) {
			b.stub.refusals = 3
			g.Expect(b.heart.Leave(b.ctx)).To(Succeed())
			g.Expect(b.stub.left).To(Equal(ms(0, 100, 300, 700)))
		})
		run(func(g Gomega, b *bench) {
			b.stub.refusals = 9
			g.Expect(b.heart.Leave(b.ctx)).To(MatchError(errRedis))
			g.Expect(b.stub.left).To(HaveLen(4))
		})
		run(func(g Gomega, b *bench) {
			b.stub.refusals = 9
			ctx, cancel := context.WithTimeout(b.ctx, 200*time.Millisecond)
			defer cancel()
			g.Expect(b.heart.Leave(ctx)).To(MatchError(errRedis))
			g.Expect(b.stub.left).To(Equal(ms(0, 100)))
		})
	})

	It("waits for a beat that hangs no longer than it may", func() {
		run(func(g Gomega, b *bench) {
			b.stub.plan(takes(time.Hour))
			bubble.Sleep(11 * time.Second)
			ctx, cancel := context.WithTimeout(b.ctx, time.Second)
			defer cancel()
			g.Expect(b.heart.Leave(ctx)).To(MatchError(context.DeadlineExceeded))
			g.Expect(time.Since(b.stub.began)).To(Equal(12 * time.Second))
			g.Expect(b.stub.left).To(BeEmpty(), "the beat would write the key again")
		})
	})

	It("removes the key after a beat that was on its way", func() {
		run(func(g Gomega, b *bench) {
			b.stub.plan(takes(2 * time.Second))
			bubble.Sleep(11 * time.Second)
			g.Expect(b.heart.Leave(b.ctx)).To(Succeed())
			g.Expect(b.stub.left).To(Equal(ms(12_000)))
			bubble.Sleep(time.Hour)
			g.Expect(b.stub.see()).To(Equal(ms(0, 10_000)))
		})
	})
})
