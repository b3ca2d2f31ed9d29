package nodetest_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2/server"
	"github.com/onsi/gomega"

	"leasehold/internal/bubble"
	"leasehold/internal/nodetest"
)

// TestCommandsHardlyGrowWithTheFleet counts what nodes send for the same 1,000 sessions, each
// polled each 10 s: fifty nodes send a fifth more than one at the most.
func TestCommandsHardlyGrowWithTheFleet(t *testing.T) {
	one, fifty := commands(t, 1), commands(t, 50)
	t.Logf("%.1f commands a second by one node, %.1f by fifty", one, fifty)
	gomega.NewWithT(t).Expect(fifty).To(gomega.BeNumerically("<=", 1.2*one))
}

// commands returns how many commands the nodes send a second, those of scripts not counted.
func commands(t *testing.T, nodes int) float64 {
	t.Helper()
	const count = 30 * time.Second // of all that comes each ten
	var sent, counted atomic.Int64
	bubble.RunOn(t, func(g gomega.Gomega) {
		f := nodetest.New(g, func(o *nodetest.Options) { o.Sweep, o.Quiet = time.Minute, true })
		defer f.Stop()
		f.Hook(func(c *server.Peer, _ string, _ ...string) bool {
			if !f.Mini.InScript(c) {
				sent.Add(1)
			}
			return false
		})
		f.PutMany(1000, 10*time.Second)
		for range nodes {
			f.Start()
		}
		bubble.Sleep(25 * time.Second)
		before := sent.Load()
		bubble.Sleep(count)
		counted.Store(sent.Load() - before)
	})
	return float64(counted.Load()) / count.Seconds()
}
