package node_test

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"leasehold/internal/bubble"
	"leasehold/internal/nodetest"
	"leasehold/node"
	"leasehold/redisevents"
	"leasehold/rediskey"
	"leasehold/redisstore"
)

// patient has so few renewals that days pass in a moment.
func patient(c *node.Config) {
	c.LeaseTTL, c.RenewInterval, c.Margin = time.Hour, 20*time.Minute, 4*time.Minute
	c.HeartbeatTTL, c.HeartbeatInterval = time.Hour, 20*time.Minute
	c.ReconcileInterval, c.Events = 20*time.Minute, redisevents.Off
}

// starts are when the target was asked by anybody.
func starts(f *nodetest.Fleet, id string) []time.Time {
	var all []time.Time
	for _, p := range f.Target.Polls(id) {
		all = append(all, p.Start)
	}
	return all
}

func task(more string) string {
	return fmt.Sprintf(`{"url":"http://target.invalid/","timeout":"2h","misfire":"once","lease_ttl":"2m"%s}`, more)
}

var _ = Describe("a task", func() {
	It("runs every ten minutes from start to start, once a fleet, also when a run outlasts its lock many times", func() {
		bubble.Run(func(g Gomega) {
			f := nodetest.New(g)
			defer f.Stop()
			f.Target.Set("t", nodetest.Behavior{Delay: 9 * time.Minute})
			f.Put("t", task(`,"interval":"10m"`))
			f.Start()
			f.Start()
			bubble.Sleep(32 * time.Minute)
			got := starts(f, "t")
			g.Expect(got).To(HaveLen(3), "the fourth is in flight")
			for i := 1; i < len(got); i++ {
				// It moves toward its phase by a fiftieth at most.
				g.Expect(got[i].Sub(got[i-1])).To(BeNumerically("~", 10*time.Minute+6*time.Second, 7*time.Second))
			}
			g.Expect(f.Target.Overlaps()).To(BeEmpty())
		})
	})

	It("is taken over from a crashed node when the lock ends, and run again", func() {
		bubble.Run(func(g Gomega) {
			f := nodetest.New(g)
			defer f.Stop()
			f.Target.Set("t", nodetest.Behavior{Delay: 15 * time.Minute})
			f.Put("t", task(`,"interval":"24h"`))
			a := f.Start()
			bubble.Sleep(10 * time.Minute)
			f.Start()
			bubble.Sleep(time.Minute)
			a.Kill()
			dead := time.Now()
			bubble.Sleep(30 * time.Minute)
			polls := f.Target.Polls("t")
			g.Expect(polls).To(HaveLen(2), "the second one did it")
			g.Expect(polls[1].Start).To(BeTemporally("<=", dead.Add(2*time.Minute+3*time.Second)))
			g.Expect(polls[1].Token).To(BeNumerically(">", polls[0].Token))
			g.Expect(f.Target.Overlaps()).To(BeEmpty())
		})
	})

	It("is run once when all nodes were away for days, or waits for the next slot where it skips", func() {
		bubble.Run(func(g Gomega) {
			f := nodetest.New(g)
			defer f.Stop()
			f.Put("once", task(`,"interval":"10m"`))
			f.Put("skip", `{"url":"http://target.invalid/","misfire":"skip","interval":"10m"}`)
			a := f.Start()
			bubble.Sleep(25 * time.Minute)
			g.Expect(a.Drain()).To(Succeed())
			before := starts(f, "skip")
			bubble.Sleep(49 * time.Hour)
			f.Start()
			back := time.Now()
			bubble.Sleep(9 * time.Minute)
			g.Expect(f.Target.Since(back)["once"]).To(HaveLen(1))
			g.Expect(f.Target.Since(back)["once"][0].Start).To(BeTemporally("~", back, 5*time.Second))
			bubble.Sleep(2 * time.Minute)
			skipped := f.Target.Since(back)["skip"]
			g.Expect(skipped).To(HaveLen(1))
			since := skipped[0].Start.Sub(before[len(before)-1])
			g.Expect(since%(10*time.Minute)).To(BeNumerically("<", 30*time.Second), "the grid goes on")
			g.Expect(skipped[0].Start).To(BeTemporally(">", back.Add(5*time.Second)))
		})
	})

	It("that failed is released at once and soon run by another node, its due time unchanged", func() {
		bubble.Run(func(g Gomega) {
			f := nodetest.New(g)
			defer f.Stop()
			f.Target.Set("t", nodetest.Behavior{Fail: true})
			f.Put("t", task(`,"interval":"10m","on_failure":"release"`))
			f.Start()
			f.Start()
			bubble.Sleep(20 * time.Second)
			f.Target.Set("t", nodetest.Behavior{})
			bubble.Sleep(40 * time.Second)
			polls := f.Target.Polls("t")
			g.Expect(len(polls)).To(BeNumerically(">=", 3))
			g.Expect(polls[1].Instance).NotTo(Equal(polls[0].Instance))
			g.Expect(polls[1].Start.Sub(polls[0].Start)).To(BeNumerically("<", 4*time.Second))
			last := polls[len(polls)-1]
			g.Expect(last.OK).To(BeTrue())
			slot, err := f.Client.HGet(context.Background(), rediskey.Default().State("t"), "slot").Int64()
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(time.UnixMilli(slot)).To(BeTemporally("~", polls[0].Start, 10*time.Millisecond))
		})
	})

	It("is run when somebody asks, within seconds", func() {
		bubble.Run(func(g Gomega) {
			f := nodetest.New(g)
			defer f.Stop()
			f.Put("t", task(`,"interval":"24h"`))
			f.Start()
			bubble.Sleep(10 * time.Minute)
			g.Expect(starts(f, "t")).To(HaveLen(1))
			store := redisstore.New(f.Client, rediskey.Default(), redisstore.Options{})
			g.Expect(store.Ask(context.Background(), "t")).To(Succeed())
			bubble.Sleep(3 * time.Second)
			g.Expect(starts(f, "t")).To(HaveLen(2))
			bubble.Sleep(10 * time.Minute)
			g.Expect(starts(f, "t")).To(HaveLen(2))
		})
	})

	It("goes by its zone's clock over the change to summer time, and over a change of owner", func() {
		bubble.Run(func(g Gomega) {
			zone, err := time.LoadLocation("Europe/Berlin")
			g.Expect(err).NotTo(HaveOccurred())
			time.Sleep(time.Until(time.Date(2000, 3, 25, 5, 20, 0, 0, zone))) // clocks change on the 26th
			f := nodetest.New(g)
			defer f.Stop()
			f.Put("t", `{"url":"http://target.invalid/","cron":"30 6 * * *","timezone":"Europe/Berlin"}`)
			for range 3 { // days, each with a node of its own, which comes before the hour
				n := f.Start(patient)
				bubble.Sleep(2 * time.Hour)
				g.Expect(n.Drain()).To(Succeed())
				bubble.Sleep(22 * time.Hour)
			}
			var days []string
			for _, at := range starts(f, "t") {
				days = append(days, at.In(zone).Format("2 15:04 MST"))
			}
			g.Expect(days).To(Equal([]string{"25 06:30 CET", "26 06:30 CEST", "27 06:30 CEST"}))
		})
	})
})
