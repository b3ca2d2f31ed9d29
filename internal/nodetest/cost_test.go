package nodetest_test

import (
	"os"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/onsi/gomega"

	"leasehold/internal/bubble"
	"leasehold/internal/nodetest"
	"leasehold/node"
)

// TestCost tells what a fleet-hour costs while nothing happens: 5 nodes, 25
// sessions, once, or as many as HOURS says.
func TestCost(t *testing.T) {
	hours, _ := strconv.Atoi(os.Getenv("HOURS"))
	hours = max(1, hours)
	polls := 0
	wall, cpu := clocks()
	bubble.RunOn(t, func(g gomega.Gomega) {
		f := nodetest.New(g, func(o *nodetest.Options) {
			o.Sweep, o.Quiet, o.Node = time.Minute, true, slow
		})
		defer f.Stop()
		f.PutMany(25, 2*time.Minute)
		for range 5 {
			f.Start()
		}
		bubble.Sleep(time.Duration(hours) * time.Hour)
		g.Expect(f.Target.Overlaps()).To(gomega.BeEmpty())
		polls = len(f.Target.Polls(""))
		g.Expect(polls).To(gomega.BeNumerically("~", hours*25*30, 100))
	})
	wallAfter, cpuAfter := clocks()
	t.Logf("%d ms of CPU and %d ms of wall time a fleet-hour (%d polls)",
		(cpuAfter-cpu).Milliseconds()/int64(hours), wallAfter.Sub(wall).Milliseconds()/int64(hours), polls/hours)
}

func slow(c *node.Config) {
	c.ReconcileInterval = 30 * time.Second
	c.Defaults.Interval = 2 * time.Minute
	c.Listen.Canary, c.Listen.Dead = 10*time.Second, 30*time.Second
	c.Listen.Identify, c.Listen.FlagCheck = 10*time.Second, time.Minute
}

func clocks() (wall time.Time, cpu time.Duration) {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Now(), time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
