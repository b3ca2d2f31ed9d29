package membership

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"leasehold/actors/leaseholder"
	"leasehold/lease"
	"leasehold/planner"
	"leasehold/session"
)

// churn plays a fleet of very many documents, of which one is paused or resumed more often
// than a plan can be made.
type churn struct {
	*desk

	busy  time.Duration // spent on plans
	plan  *planInput    // being made
	until time.Time
	edits uint64
}

const (
	planTakes = 50 * time.Millisecond
	editEach  = 40 * time.Millisecond
)

// pass lets time go by, a millisecond at a time.
func (c *churn) pass(by time.Duration) {
	for end := c.now.Add(by); c.now.Before(end); c.now = c.now.Add(time.Millisecond) {
		if c.plan != nil {
			c.busy += time.Millisecond
		}
		if c.plan != nil && !c.now.Before(c.until) {
			in := c.plan
			c.plan = nil
			c.m.onPlan(in, planner.Assign(in.View), c.now)
		}
		if c.now.UnixMilli()%editEach.Milliseconds() == 0 {
			c.edits++
			edited := doc("edited", edition(c.edits), func(s *session.Session) { s.Paused = c.edits%2 == 0 })
			c.m.onDocuments([]document{edited}, c.now, c.now)
		}
		c.m.onTime(c.now)
		o := c.m.take()
		if !c.m.looked {
			c.m.onStatuses(unleased(o.look), c.now)
			o.look = nil
		}
		if o.asksLoss {
			c.m.onLoss(0, false, nil, c.now, c.now)
		}
		if o.plan != nil {
			c.plan, c.until = o.plan, c.now.Add(planTakes)
		}
		for _, claim := range o.claims { // granted at once
			c.next++
			o := lease.Outcome{Session: claim.Session, Granted: true, Holder: self, Token: lease.Token(c.next)}
			c.m.onOutcomes([]lease.Outcome{o}, c.now, c.now)
		}
		c.keep(o)
	}
}

var _ = Describe("a node while documents change faster than plans are made", func() {
	It("becomes ready, and spends no more than half of the time on plans", func() {
		d := newDesk()
		d.list(peer)
		d.scan(docs(ids(10)...)...)
		d.take()
		c := &churn{desk: d}
		c.pass(settleMost + 2*settle)
		Expect(c.m.ready).To(BeTrue())
		mine := 0
		for _, claim := range c.take().claims {
			if claim.Session[0] == 's' {
				mine++
			}
		}
		Expect(mine).To(Equal(5))
		c.busy = 0
		c.pass(10 * time.Second)
		Expect(c.busy).To(BeNumerically("~", 5*time.Second, time.Second/2))
	})

	It("gives up what it has too much", func() {
		d := crowd(11) // of whom the other takes five, whether or not the one is paused
		c := &churn{desk: d}
		c.pass(d.m.set.Reconcile + 2*settle)
		moved := 0
		for _, r := range told[*leaseholder.Release](c.take()) {
			if r.Reason == leaseholder.Rebalance {
				moved++
			}
		}
		Expect(moved).To(Equal(5))
	})
})
