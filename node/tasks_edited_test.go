package node_test

import (
	"context"
	"strings"
	"sync/atomic"
	"time"

	"github.com/alicebob/miniredis/v2/server"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"leasehold/internal/bubble"
	"leasehold/internal/nodetest"
	"leasehold/node"
)

var _ = Describe("a task's slot that was begun", func() {
	edits := map[string]struct{ before, after string }{
		"interval": {`,"interval":"24h"`, `,"interval":"12h"`},
		"calendar": {`,"cron":"30 2 * * *"`, `,"cron":"45 2 * * *"`},
	}
	ends := map[string]func(m *nodetest.Member){
		"died with its node":    func(m *nodetest.Member) { m.Kill() },
		"was given back by one": func(m *nodetest.Member) { _ = m.Drain() },
	}
	for what, edit := range edits {
		for how, end := range ends {
			It("is served again where its run "+how+", though its "+what+" was edited meanwhile", func() {
				bubble.Run(func(g Gomega) {
					f := nodetest.New(g)
					defer f.Stop()
					f.Target.Set("t", nodetest.Behavior{Delay: 15 * time.Minute})
					f.Put("t", task(edit.before))
					a := f.Start()
					bubble.Sleep(time.Minute)
					if strings.Contains(edit.before, "cron") {
						g.Expect(operator(f).Ask(context.Background(), "t")).To(Succeed())
						bubble.Sleep(time.Minute)
					}
					f.Start()
					bubble.Sleep(time.Minute)
					f.Put("t", task(edit.after))
					bubble.Sleep(10 * time.Second)
					end(a)
					ended := time.Now()
					bubble.Sleep(30 * time.Minute)
					got := starts(f, "t")
					g.Expect(got).To(HaveLen(2))
					g.Expect(got[1]).To(BeTemporally("<=", ended.Add(2*time.Minute+3*time.Second)))
				})
			})
		}
	}
})

var _ = Describe("a task that skips what it missed", func() {
	It("is served as late as its lease's TTL, which may be the fleet's", func() {
		bubble.Run(func(g Gomega) {
			f := nodetest.New(g)
			defer f.Stop()
			long := func(c *node.Config) {
				c.LeaseTTL, c.RenewInterval, c.Margin = 5*time.Minute, 100*time.Second, 20*time.Second
				c.HeartbeatTTL, c.HeartbeatInterval = 5*time.Minute, 100*time.Second
			}
			f.Put("t", `{"url":"http://target.invalid/","misfire":"skip","interval":"1h"}`)
			a := f.Start(long)
			bubble.Sleep(time.Minute)
			f.Start(long)
			first := starts(f, "t")
			g.Expect(first).To(HaveLen(1))
			bubble.Sleep(time.Until(first[0].Add(time.Hour - 30*time.Second)))
			a.Kill()
			bubble.Sleep(6 * time.Minute)
			g.Expect(starts(f, "t")).To(HaveLen(2))
		})
	})
})

var _ = Describe("a task whose end Redis did not take", func() {
	It("has its next run for the next slot, and at once where somebody wants that", func() {
		bubble.Run(func(g Gomega) {
			f := nodetest.New(g)
			defer f.Stop()
			f.Target.Set("t", nodetest.Behavior{Delay: 10 * time.Second})
			f.Put("t", task(`,"cron":"0 1 * * *"`))
			var refuses atomic.Bool
			f.Hook(func(p *server.Peer, cmd string, _ ...string) bool {
				if refuses.Load() && strings.EqualFold(cmd, "EVALSHA") {
					p.WriteError("MISCONF no write to the disk")
					return true
				}
				return false
			})
			f.Start(patient)
			bubble.Sleep(time.Hour + 5*time.Second) // the first run is in flight
			refuses.Store(true)
			bubble.Sleep(7 * time.Second)
			refuses.Store(false)
			bubble.Sleep(time.Minute)
			g.Expect(starts(f, "t")).To(HaveLen(1))
			g.Expect(operator(f).Ask(context.Background(), "t")).To(Succeed())
			asked := time.Now()
			bubble.Sleep(20 * time.Second)
			g.Expect(starts(f, "t")).To(HaveLen(2))
			g.Expect(starts(f, "t")[1]).To(BeTemporally("<=", asked.Add(4*time.Second)))
			bubble.Sleep(24 * time.Hour)
			g.Expect(starts(f, "t")).To(HaveLen(3))
			entries, err := f.Client.XRange(context.Background(), "poll:results", "-", "+").Result()
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(entries).To(HaveLen(3))
			g.Expect(entries[0].Values["event"]).To(ContainSubstring(`"scheduled":"2000-01-01T01:00:00Z"`))
			g.Expect(entries[2].Values["event"]).To(ContainSubstring(`"scheduled":"2000-01-02T01:00:00Z"`))
		})
	})
})
