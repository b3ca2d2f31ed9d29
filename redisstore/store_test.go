package redisstore_test

import (
	"context"
	"fmt"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/redis/go-redis/v9"

	"leasehold/internal/bubble"
	"leasehold/internal/redistest"
	"leasehold/lease"
	"leasehold/lease/leasetest"
	"leasehold/rediskey"
	"leasehold/redisstore"
	"leasehold/session"
)

// inBubble runs f with a store over a link that can fail.
func inBubble(o redisstore.Options, f func(g Gomega, s *redisstore.Store, m *redistest.Mini, l *redistest.Link)) {
	GinkgoHelper()
	bubble.Run(func(g Gomega) {
		m := redistest.NewMini()
		defer m.Close()
		l := m.Link()
		c := l.Client()
		defer func() { _ = c.Close() }()
		f(g, redisstore.New(c, rediskey.Default(), o), m, l)
	})
}

func claims(n int) []lease.Claim {
	out := make([]lease.Claim, n)
	for i := range out {
		out[i] = lease.Claim{Session: fmt.Sprintf("s%d", i), TTL: 30 * time.Second}
	}
	return out
}

var _ = Describe("a store", func() {
	ctx := context.Background()
	slot := lease.Slot{Interval: 10 * time.Second, Bound: 5 * time.Second}

	It("restarts it with each renewal of a lease that may miss its minute of the hour for days", func() {
		inBubble(redisstore.Options{}, func(g Gomega, s *redisstore.Store, m *redistest.Mini, _ *redistest.Link) {
			key := rediskey.Default().State("s0")
			o := s.Acquire(ctx, "n1", []lease.Claim{{Session: "s0", TTL: time.Hour}})[0]
			grant := lease.Grant{Session: "s0", Holder: "n1", Token: o.Token}
			m.SetTTL(key, 3*time.Hour)
			for range 24 {
				bubble.Sleep(20 * time.Minute)
				g.Expect(s.Renew(ctx, leasetest.Renewals(time.Hour, grant))[0].Err).NotTo(HaveOccurred())
				g.Expect(m.TTL(key)).To(BeNumerically(">", 24*time.Hour))
			}
		})
	})

	It("restarts the TTL of the state within an hour of renewals, and not with each", func() {
		inBubble(redisstore.Options{}, func(g Gomega, s *redisstore.Store, m *redistest.Mini, _ *redistest.Link) {
			key := rediskey.Default().State("s0")
			o := s.Acquire(ctx, "n1", claims(1))[0]
			grant := lease.Grant{Session: "s0", Holder: "n1", Token: o.Token}
			m.SetTTL(key, 3*time.Hour)
			restarted := 0
			for range 3 * 360 {
				bubble.Sleep(10 * time.Second)
				before := m.TTL(key)
				g.Expect(s.Renew(ctx, leasetest.Renewals(30*time.Second, grant))[0].Err).NotTo(HaveOccurred())
				if m.TTL(key) > before {
					restarted++
				}
			}
			g.Expect(m.TTL(key)).To(BeNumerically(">", 6*24*time.Hour))
			g.Expect(restarted).To(And(BeNumerically(">=", 3), BeNumerically("<=", 24)))
		})
	})

	It("finds what it did when the reply of an acquire was lost", func() {
		inBubble(redisstore.Options{}, func(g Gomega, s *redisstore.Store, m *redistest.Mini, l *redistest.Link) {
			s.Acquire(ctx, "n0", claims(1)) // loads the script
			l.LoseReplies(1)
			o := s.Acquire(ctx, "n1", []lease.Claim{{Session: "x", TTL: time.Minute}})[0]
			g.Expect(o.Err).To(MatchError(HavePrefix("acquire 1 leases: ")))
			g.Expect(o.Granted).To(BeFalse())
			bubble.Sleep(time.Second)
			g.Expect(m.Get(rediskey.Default().Lease("x"))).To(Equal("n1"))
			o = s.Acquire(ctx, "n1", []lease.Claim{{Session: "x", TTL: time.Minute}})[0]
			g.Expect(o.Err).NotTo(HaveOccurred())
			g.Expect(o.Granted && o.Already).To(BeTrue())
			g.Expect(m.HGet(rediskey.Default().State("x"), "version")).To(Equal(fmt.Sprint(o.Token)))
		})
	})

	It("loads all scripts where one is missing, and asks again who answers", func() {
		bubble.Run(func(g Gomega) {
			m := redistest.NewMini()
			defer m.Close()
			c := m.Link().Client()
			defer func() { _ = c.Close() }()
			var sent pipelines
			c.AddHook(&sent)
			s := redisstore.New(c, rediskey.Default(), redisstore.Options{})
			g.Expect(s.Acquire(ctx, "n1", claims(1))[0].Granted).To(BeTrue())
			g.Expect(sent).To(HaveLen(3))
			g.Expect(sent[0]).To(Equal([]string{"info", "evalsha"}))
			g.Expect(sent[1]).To(HaveEach("script"))
			g.Expect(sent[2]).To(Equal(sent[0]), "it may be another server by now")

			g.Expect(s.Beat(ctx, "n2", time.Minute)).To(Succeed())
			g.Expect(c.ScriptFlush(ctx).Err()).To(Succeed())
			sent = nil
			g.Expect(s.List(ctx)).To(HaveLen(1))
			g.Expect(sent).To(ContainElement(HaveEach("script")))
			sent = nil
			g.Expect(s.Acquire(ctx, "n1", claims(2))[1].Granted).To(BeTrue())
			g.Expect(sent).To(HaveLen(1), "the list has loaded what a takeover needs")
		})
	})

	It("names the key that has another type, the lease or its state", func() {
		inBubble(redisstore.Options{}, func(g Gomega, s *redisstore.Store, m *redistest.Mini, _ *redistest.Link) {
			keys := rediskey.Default()
			for id, odd := range map[string]string{"s0": keys.Lease("s0"), "s1": keys.State("s1")} {
				_, err := m.Lpush(odd, "x")
				g.Expect(err).NotTo(HaveOccurred())
				grant := lease.Grant{Session: id, Holder: "n1", Token: 1}
				if odd != keys.Lease(id) {
					g.Expect(m.Set(keys.Lease(id), "n1")).To(Succeed())
				}
				_, begun := s.Begin(ctx, grant, slot)
				for what, err := range map[string]error{
					"acquire": s.Acquire(ctx, "n2", []lease.Claim{{Session: id, TTL: time.Minute}})[0].Err,
					"renew":   s.Renew(ctx, leasetest.Renewals(time.Minute, grant))[0].Err,
					"release": s.Release(ctx, []lease.Release{{Grant: grant}})[0],
					"begin":   begun,
					"finish":  s.Finish(ctx, grant, lease.Result{}),
					"ask":     s.Ask(ctx, id),
					"inspect": s.Inspect(ctx, []string{id})[0].Err,
				} {
					g.Expect(err).To(MatchError(lease.ErrForeign), what)
					g.Expect(err).To(MatchError(ContainSubstring("%q", odd)), what)
				}
			}
		})
	})

	It("answers every call within its timeout when the server hangs", func() {
		inBubble(redisstore.Options{Timeout: time.Second, BatchSize: 10}, func(g Gomega, s *redisstore.Store, _ *redistest.Mini, l *redistest.Link) {
			grants := make([]lease.Grant, 200) // twenty script calls
			for i, o := range s.Acquire(ctx, "n1", claims(200)) {
				grants[i] = lease.Grant{Session: o.Session, Holder: "n1", Token: o.Token}
			}
			l.Freeze()
			for name, call := range map[string]func() error{
				"renew":   func() error { return s.Renew(ctx, leasetest.Renewals(time.Minute, grants...))[199].Err },
				"acquire": func() error { return s.Acquire(ctx, "n1", claims(200))[0].Err },
				"release": func() error { return s.Release(ctx, []lease.Release{{Grant: grants[0]}})[0] },
				"look":    func() error { return s.Look(ctx, []string{"s0"})[0].Err },
				"begin":   func() error { _, err := s.Begin(ctx, grants[0], slot); return err },
				"finish":  func() error { return s.Finish(ctx, grants[0], lease.Result{}) },
				"beat":    func() error { return s.Beat(ctx, "n1", time.Minute) },
				"leave":   func() error { return s.Leave(ctx, "n1") },
				"list":    func() error { _, err := s.List(ctx); return err },
				"check":   func() error { _, err := s.Check(ctx, []string{"n1"}); return err },
				"scan":    func() error { return s.Scan(ctx, func([]session.Document) {}) },
				"get":     func() error { _, err := s.Get(ctx, []string{"s0"}); return err },
			} {
				start := time.Now()
				err := call()
				g.Expect(err).To(HaveOccurred(), name)
				g.Expect(err).NotTo(MatchError(lease.ErrLost), name)
				g.Expect(time.Since(start)).To(BeNumerically("<=", time.Second+10*time.Millisecond), name)
			}
			l.Heal()
			bubble.Sleep(time.Second)
			g.Expect(s.Beat(ctx, "n1", time.Minute)).To(Succeed())
		})
	})

	It("answers within the caller's context when that ends first", func() {
		inBubble(redisstore.Options{}, func(g Gomega, s *redisstore.Store, _ *redistest.Mini, l *redistest.Link) {
			s.Acquire(ctx, "n1", claims(1))
			l.Freeze()
			short, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
			defer cancel()
			start := time.Now()
			_, err := s.Begin(short, lease.Grant{Session: "s0", Holder: "n1"}, slot)
			g.Expect(err).To(MatchError(context.DeadlineExceeded))
			g.Expect(s.Renew(short, leasetest.Renewals(time.Minute, lease.Grant{Session: "s0"}))[0].Err).To(HaveOccurred())
			g.Expect(time.Since(start)).To(Equal(100 * time.Millisecond))
		})
	})

	It("takes an error reply for unknown, never for lost", func() {
		inBubble(redisstore.Options{}, func(g Gomega, s *redisstore.Store, m *redistest.Mini, _ *redistest.Link) {
			o := s.Acquire(ctx, "n1", claims(1))[0]
			grant := lease.Grant{Session: "s0", Holder: "n1", Token: o.Token}
			for _, reply := range []string{
				"OOM command not allowed when used memory > 'maxmemory'.", "BUSY Redis is busy running a script.",
				"LOADING Redis is loading the dataset in memory", "READONLY You can't write against a read only replica.",
				"MISCONF Redis is configured to save RDB snapshots", "NOPERM this user has no permissions", "ERR odd",
				"NOSCRIPT No matching script.",
			} {
				m.SetError(reply)
				v := s.Renew(ctx, leasetest.Renewals(time.Minute, grant))[0]
				g.Expect(v.Err).To(MatchError(HavePrefix("renew 1 leases: ")), reply)
				g.Expect(v.Err).NotTo(MatchError(lease.ErrLost))
				_, err := s.Begin(ctx, grant, slot)
				g.Expect(err).To(HaveOccurred())
				g.Expect(err).NotTo(MatchError(lease.ErrLost))
				g.Expect(s.Release(ctx, []lease.Release{{Grant: grant}})[0]).NotTo(Or(BeNil(), MatchError(lease.ErrLost)))
				g.Expect(s.Acquire(ctx, "n1", claims(1))[0].Granted).To(BeFalse())
			}
			m.SetError("")
			g.Expect(s.Renew(ctx, leasetest.Renewals(time.Minute, grant))[0].Err).NotTo(HaveOccurred())
		})
	})

	It("sends the polls that begin together in two round trips", func() {
		inBubble(redisstore.Options{}, func(g Gomega, s *redisstore.Store, m *redistest.Mini, l *redistest.Link) {
			grants := make([]lease.Grant, 20)
			for i, o := range s.Acquire(ctx, "n1", claims(20)) {
				grants[i] = lease.Grant{Session: o.Session, Holder: "n1", Token: o.Token}
			}
			_, err := s.Begin(ctx, lease.Grant{}, slot) // loads the script
			g.Expect(err).To(MatchError(lease.ErrLost))
			before := m.TotalConnectionCount()
			sent := l.Sends()
			l.Freeze() // the first flight is out while the others board, or takes them all
			var wg sync.WaitGroup
			errs := make([]error, len(grants))
			for i, grant := range grants {
				wg.Go(func() { _, errs[i] = s.Begin(ctx, grant, slot) })
			}
			bubble.Sleep(time.Millisecond)
			l.Heal()
			wg.Wait()
			for _, err := range errs {
				g.Expect(err).NotTo(HaveOccurred())
			}
			g.Expect(l.Sends() - sent).To(BeElementOf(1, 2))
			g.Expect(m.TotalConnectionCount()).To(Equal(before))
		})
	})

	It("never sends the poll of a caller that gave up waiting for its turn", func() {
		inBubble(redisstore.Options{}, func(g Gomega, s *redisstore.Store, m *redistest.Mini, l *redistest.Link) {
			grants := make([]lease.Grant, 2)
			for i, o := range s.Acquire(ctx, "n1", claims(2)) {
				grants[i] = lease.Grant{Session: o.Session, Holder: "n1", Token: o.Token}
			}
			l.Freeze()
			short, cancel := context.WithCancel(ctx)
			var wg sync.WaitGroup
			wg.Go(func() { _, _ = s.Begin(short, lease.Grant{Session: "first"}, slot) })
			bubble.Sleep(time.Millisecond)
			wg.Go(func() { _, _ = s.Begin(short, grants[1], slot) })
			bubble.Sleep(time.Millisecond)
			cancel()
			wg.Wait()
			l.Heal()
			start, err := s.Begin(ctx, grants[0], slot)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(start.At).NotTo(BeZero())
			g.Expect(m.HGet(rediskey.Default().State("s1"), "busy")).To(BeEmpty())
		})
	})
})

// pipelines is a hook that notes the commands of each.
type pipelines [][]string

func (*pipelines) DialHook(next redis.DialHook) redis.DialHook          { return next }
func (*pipelines) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

func (p *pipelines) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		var names []string
		for _, cmd := range cmds {
			names = append(names, cmd.Name())
		}
		*p = append(*p, names)
		return next(ctx, cmds)
	}
}
