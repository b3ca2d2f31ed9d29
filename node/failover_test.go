package node_test

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/alicebob/miniredis/v2/server"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"leasehold/internal/bubble"
	"leasehold/internal/nodetest"
)

const ttl = 30 * time.Second

// lastPoll returns the end of the last poll that an instance began.
func lastPoll(f *nodetest.Fleet, instance string) time.Time {
	var last time.Time
	for _, p := range f.Target.Polls("") {
		if p.Instance == instance && p.End.After(last) {
			last = p.End
		}
	}
	return last
}

var _ = Describe("failover", func() {
	It("polls a crashed node's sessions elsewhere within the TTL, 0.2 s and an interval", func() {
		bubble.Run(func(g Gomega) {
			f := nodetest.New(g)
			defer f.Stop()
			f.PutMany(30, 10*time.Second)
			a := f.Start()
			f.Start()
			f.Start()
			bubble.Sleep(45 * time.Second)
			balanced(g, f, 30, 3)
			tokens, owners := f.Tokens(), f.Owners()

			a.Kill()
			dead := time.Now()
			bubble.Sleep(ttl + 10*time.Second + 200*time.Millisecond)
			balanced(g, f, 30, 2)
			polls := f.Target.Since(dead)
			for id := range owners {
				g.Expect(polls[id]).NotTo(BeEmpty(), id)
				g.Expect(polls[id][0].Start).To(BeTemporally("<=", dead.Add(ttl+10*time.Second+200*time.Millisecond)), id)
			}
			after := f.Tokens()
			for id, owner := range owners {
				if owner == a.Name {
					g.Expect(after[id]).NotTo(Equal(tokens[id]))
				}
			}
			g.Expect(f.Target.Overlaps()).To(BeEmpty())
		})
	})

	It("takes each of a crashed node's leases at a deadline of its own, after the heartbeat", func() {
		bubble.Run(func(g Gomega) {
			f := nodetest.New(g)
			defer f.Stop()
			f.PutMany(30, time.Hour)
			a := f.Start()
			f.Start()
			bubble.Sleep(45 * time.Second)
			balanced(g, f, 30, 2)
			left := func(key string) time.Duration { return f.Client.PTTL(context.Background(), key).Val() }
			heartbeat, deadlines := left("poll:node:"+a.Name), map[string]time.Time{}
			for id, owner := range f.Owners() {
				if lease := left("poll:lease:" + id); owner == a.Name {
					g.Expect(lease-heartbeat).To(BeNumerically(">=", ttl/50-time.Millisecond), id)
					deadlines[id] = time.Now().Add(lease)
				}
			}
			g.Expect(deadlines).To(HaveLen(15))
			a.Kill()

			ids := slices.SortedFunc(maps.Keys(deadlines), func(a, b string) int { return deadlines[a].Compare(deadlines[b]) })
			g.Expect(deadlines[ids[14]].Sub(deadlines[ids[0]])).To(BeNumerically(">", ttl/100))
			bubble.Sleep(time.Until(deadlines[ids[0]]) - 5*time.Millisecond)
			taken := map[string]time.Time{}
			for end := deadlines[ids[14]].Add(5 * time.Millisecond); time.Now().Before(end); bubble.Sleep(time.Millisecond) {
				for id, owner := range f.Owners() {
					if _, known := taken[id]; owner != a.Name && !known {
						taken[id] = time.Now()
					}
				}
			}
			for _, id := range ids {
				g.Expect(taken[id].Sub(deadlines[id])).To(And(BeNumerically(">=", 0), BeNumerically("<=", 4*time.Millisecond)), id)
			}
		})
	})

	It("takes over from a stopped node at once, and no slot is missed", func() {
		bubble.Run(func(g Gomega) {
			f := nodetest.New(g)
			defer f.Stop()
			f.PutMany(30, 10*time.Second)
			a := f.Start()
			f.Start()
			f.Start()
			bubble.Sleep(45 * time.Second)
			at := time.Now()
			g.Expect(a.Drain()).To(Succeed())
			bubble.Sleep(50 * time.Millisecond)
			balanced(g, f, 30, 2)
			g.Expect(f.Mini.Exists("poll:node:" + a.Name)).To(BeFalse())
			bubble.Sleep(60 * time.Second)
			for id, polls := range f.Target.Since(at) {
				for i := 1; i < len(polls); i++ {
					gap := polls[i].Start.Sub(polls[i-1].Start)
					g.Expect(gap).To(BeNumerically("~", 10*time.Second, 250*time.Millisecond), id)
				}
			}
			g.Expect(f.Target.Overlaps()).To(BeEmpty())
		})
	})

	It("gives a newcomer its share, and moves no more than half of ten sessions", func() {
		bubble.Run(func(g Gomega) {
			f := nodetest.New(g)
			defer f.Stop()
			f.PutMany(10, 10*time.Second)
			f.Start()
			f.Start()
			bubble.Sleep(45 * time.Second)
			balanced(g, f, 10, 2)
			before := f.Owners()
			f.Start()
			bubble.Sleep(5 * time.Second)
			balanced(g, f, 10, 3)
			moved := 0
			for id, owner := range f.Owners() {
				if before[id] != owner {
					moved++
				}
			}
			g.Expect(moved).To(BeNumerically("<=", 5))
			g.Expect(f.Target.Overlaps()).To(BeEmpty())
		})
	})

	It("stops polling before the lease can end when its link to Redis hangs", func() {
		bubble.Run(func(g Gomega) {
			f := nodetest.New(g)
			defer f.Stop()
			f.PutMany(10, time.Second)
			a := f.Start()
			f.Start()
			bubble.Sleep(45 * time.Second)
			a.Link.Freeze()
			cut := time.Now()
			bubble.Sleep(ttl + time.Second)
			g.Expect(lastPoll(f, a.Name)).To(BeTemporally("<=", cut.Add(ttl-2*time.Second)))
			balanced(g, f, 10, 1)
			a.Link.Heal()
			bubble.Sleep(60 * time.Second)
			balanced(g, f, 10, 2)
			g.Expect(f.Target.Overlaps()).To(BeEmpty())
		})
	})

	It("goes on after Redis was away for longer than the TTL", func() {
		bubble.Run(func(g Gomega) {
			f := nodetest.New(g)
			defer f.Stop()
			f.PutMany(10, time.Second)
			a := f.Start()
			b := f.Start()
			bubble.Sleep(45 * time.Second)
			a.Link.Freeze()
			b.Link.Freeze()
			cut := time.Now()
			bubble.Sleep(2 * ttl)
			g.Expect(lastPoll(f, a.Name)).To(BeTemporally("<=", cut.Add(ttl-2*time.Second)))
			g.Expect(lastPoll(f, b.Name)).To(BeTemporally("<=", cut.Add(ttl-2*time.Second)))
			back := time.Now()
			a.Link.Heal()
			b.Link.Heal()
			bubble.Sleep(5 * time.Second)
			g.Expect(f.Target.Since(back)).To(HaveLen(10))
			bubble.Sleep(30 * time.Second)
			balanced(g, f, 10, 2)
			g.Expect(f.Target.Overlaps()).To(BeEmpty())
		})
	})

	It("takes nothing before its first heartbeat was accepted, since nobody knows of it", func() {
		bubble.Run(func(g Gomega) {
			f := nodetest.New(g)
			defer f.Stop()
			f.PutMany(4, time.Second)
			var full atomic.Bool
			full.Store(true)
			f.Hook(func(c *server.Peer, cmd string, args ...string) bool {
				refused := full.Load() && cmd == "SET" && strings.HasPrefix(args[0], "poll:node:")
				if refused {
					c.WriteError("OOM command not allowed when used memory > 'maxmemory'.")
				}
				return refused
			})
			f.Start()
			bubble.Sleep(time.Minute)
			g.Expect(f.Owners()).To(BeEmpty())
			g.Expect(f.Target.Polls("")).To(BeEmpty())
			full.Store(false)
			bubble.Sleep(5 * time.Second)
			g.Expect(f.Owners()).To(HaveLen(4))
		})
	})

	It("starts no poll while renewals have no answer, and goes on when they do", func() {
		bubble.Run(func(g Gomega) {
			f := nodetest.New(g)
			defer f.Stop()
			f.PutMany(1, time.Second)
			a := f.Start()
			bubble.Sleep(45 * time.Second)
			tokens := f.Tokens()
			a.Link.Freeze()
			bubble.Sleep(13 * time.Second) // past a renewal and its timeout
			at := time.Now()
			bubble.Sleep(5 * time.Second)
			g.Expect(f.Target.Since(at)).To(BeEmpty())
			a.Link.Heal()
			bubble.Sleep(3 * time.Second)
			g.Expect(f.Target.Since(at)).NotTo(BeEmpty())
			g.Expect(f.Tokens()).To(Equal(tokens))
		})
	})
})
