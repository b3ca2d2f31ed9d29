package redisevents

import (
	"testing"

	"github.com/onsi/gomega"
)

func TestFeedsHearWhatTheNodeHearsAndDelayNobody(t *testing.T) {
	g := gomega.NewWithT(t)
	l := New(Config{})
	l.queue.add(NodeSeen{"before"})
	small, large := l.Follow(1), l.Follow(10)
	g.Expect(small.Ready()).NotTo(gomega.Receive())

	l.queue.add(SessionTouched{"1"})
	l.queue.add(SessionTouched{"1"})
	g.Expect(large.Ready()).To(gomega.Receive())
	g.Expect(large.Take()).To(gomega.Equal([]Event{SessionTouched{"1"}}))
	// To the node it is the same event still, to this taker it is a new one.
	l.queue.add(SessionTouched{"1"})
	l.queue.add(SessionTouched{"2"})
	l.queue.addGap(Gap{Reason: "restart", Restarted: true})
	g.Expect(large.Ready()).To(gomega.Receive())
	g.Expect(large.Take()).To(gomega.Equal([]Event{Gap{Reason: "restart", Restarted: true}, SessionTouched{"1"}, SessionTouched{"2"}}))
	g.Expect(small.Ready()).To(gomega.Receive())
	g.Expect(small.Take()).To(gomega.ContainElement(gomega.BeAssignableToTypeOf(Gap{})))
	g.Expect(l.Take()).To(gomega.Equal([]Event{
		Gap{Reason: "restart", Restarted: true}, NodeSeen{"before"}, SessionTouched{"1"}, SessionTouched{"2"},
	}))

	large.Close()
	large.Close()
	l.queue.add(SessionTouched{"3"})
	g.Expect(large.Take()).To(gomega.BeEmpty())
	g.Expect(small.Take()).To(gomega.Equal([]Event{SessionTouched{"3"}}))
}
