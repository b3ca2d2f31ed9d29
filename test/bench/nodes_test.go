package bench

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2/server"
	"github.com/onsi/gomega"

	"leasehold/internal/bubble"
	"leasehold/internal/nodetest"
)

// moreNodes counts commands in virtual time, as nodes share the same sessions.
func moreNodes(t *testing.T, r *report) {
	t.Helper()
	counts := []int{1, 10, 50}
	rates := make([]float64, len(counts))
	for i, n := range counts {
		rates[i] = commandRate(t, n)
		what := fmt.Sprintf("commands to Redis a second, 1,000 sessions each 10 s, simulated: %d nodes", n)
		var g *goal
		if i > 0 {
			g = atMost(rates[0] * 1.2)
		}
		r.ours(t, what, "", rates[i], g)
	}
}

// commandRate is what a fleet at work sends a second, what runs in scripts aside.
func commandRate(t *testing.T, nodes int) (rate float64) {
	t.Helper()
	const sessions, interval, span = 1000, 10 * time.Second, time.Minute
	bubble.RunOn(t, func(g gomega.Gomega) {
		f := nodetest.New(g, func(o *nodetest.Options) { o.Sweep, o.Quiet = time.Minute, true })
		defer f.Stop()
		f.PutMany(sessions, interval)
		for range nodes {
			f.Start()
		}
		bubble.Sleep(2 * time.Minute)
		var sent atomic.Int64
		f.Hook(func(c *server.Peer, _ string, _ ...string) bool {
			if !f.Mini.InScript(c) {
				sent.Add(1)
			}
			return false
		})
		bubble.Sleep(span)
		rate = float64(sent.Load()) / span.Seconds()
	})
	return rate
}
