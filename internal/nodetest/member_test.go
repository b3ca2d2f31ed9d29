package nodetest_test

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"leasehold/internal/bubble"
	"leasehold/internal/nodetest"
	"leasehold/rediskey"
)

const ttl = 30 * time.Second

// pair is a fleet of two nodes and six sessions, settled, and stopped by the end.
func pair(body func(g Gomega, f *nodetest.Fleet, a, b *nodetest.Member)) {
	GinkgoHelper()
	bubble.Run(func(g Gomega) {
		f := nodetest.New(g)
		defer f.Stop()
		f.PutMany(6, 10*time.Second)
		a, b := f.Start(), f.Start()
		bubble.Sleep(30 * time.Second)
		g.Expect(f.Loads()).To(HaveLen(2))
		body(g, f, a, b)
	})
}

// owned returns a session of the member.
func owned(g Gomega, f *nodetest.Fleet, m *nodetest.Member) string {
	for i := range 6 {
		if id := fmt.Sprintf("s%d", i); f.Owners()[id] == m.Name {
			return id
		}
	}
	g.Expect(f.Loads()).To(HaveKey(m.Name))
	return ""
}

// polling lets the target take long over a session of the member, and returns it
// once such a poll is in flight.
func polling(g Gomega, f *nodetest.Fleet, m *nodetest.Member, b nodetest.Behavior) (id string, since time.Time) {
	id = owned(g, f, m)
	f.Target.Set(id, b)
	busy := func() bool {
		return f.Mini.HGet(rediskey.Default().State(id), "busy") != ""
	}
	for range 20_000 {
		if busy() {
			return id, time.Now()
		}
		bubble.Sleep(time.Millisecond)
	}
	g.Expect(busy()).To(BeTrue())
	return "", time.Time{}
}

// pollsOf returns the polls of a member that started after a moment.
func pollsOf(f *nodetest.Fleet, m *nodetest.Member, after time.Time) []nodetest.Poll {
	var polls []nodetest.Poll
	for _, p := range f.Target.Polls("") {
		if p.Instance == m.Name && p.Start.After(after) {
			polls = append(polls, p)
		}
	}
	return polls
}

var _ = Describe("a member that is frozen", func() {
	It("does nothing at all, and goes on afterwards", func() {
		pair(func(g Gomega, f *nodetest.Fleet, a, b *nodetest.Member) {
			mine := owned(g, f, a)
			a.Freeze()
			at := time.Now()
			sends := a.Link.Sends()
			bubble.Sleep(10 * time.Second)
			g.Expect(f.Owners()).To(HaveKeyWithValue(mine, a.Name), "nobody knows yet")
			bubble.Sleep(2 * ttl)
			g.Expect(a.Link.Sends()).To(Equal(sends))
			g.Expect(a.Log.Events("lease.expired")).To(BeEmpty())
			g.Expect(pollsOf(f, a, at)).To(BeEmpty())
			g.Expect(f.Owners()).To(HaveKeyWithValue(mine, b.Name))
			a.Thaw()
			bubble.Sleep(0)
			g.Expect(a.Log.Events("lease.expired")).NotTo(BeEmpty())
			bubble.Sleep(2 * ttl)
			g.Expect(f.Loads()).To(And(HaveLen(2), HaveKeyWithValue(a.Name, 3)))
			g.Expect(pollsOf(f, a, at)).NotTo(BeEmpty())
			g.Expect(f.Target.Overlaps()).To(BeEmpty())
		})
	})

	It("keeps a poll in flight that it would cancel, until it can", func() {
		pair(func(g Gomega, f *nodetest.Fleet, a, _ *nodetest.Member) {
			id, begun := polling(g, f, a, nodetest.Behavior{Delay: time.Hour})
			a.Freeze()
			bubble.Sleep(time.Minute)
			for _, p := range f.Target.Polls(id) {
				g.Expect(p.Instance == a.Name && !p.Start.Before(begun)).To(BeFalse(), "it has not ended")
			}
			f.Target.Set(id, nodetest.Behavior{})
			a.Thaw()
			thawed := time.Now()
			bubble.Sleep(time.Second)
			var ended []nodetest.Poll
			for _, p := range f.Target.Polls(id) {
				if p.Instance == a.Name && !p.Start.After(begun) && p.End.After(begun) {
					ended = append(ended, p)
				}
			}
			g.Expect(ended).To(HaveLen(1))
			g.Expect(ended[0].End).To(BeTemporally("~", thawed, time.Second))
			g.Expect(ended[0].OK).To(BeFalse())
		})
	})
})

var _ = Describe("a member that is killed", func() {
	It("breaks its polls and connections at once, and acts no more", func() {
		pair(func(g Gomega, f *nodetest.Fleet, a, b *nodetest.Member) {
			id, _ := polling(g, f, a, nodetest.Behavior{Delay: 4 * time.Second})
			subscribers := f.Mini.PubSubNumPat()
			a.Freeze() // which makes no difference
			a.Kill()
			died := time.Now()
			g.Expect(a.Died()).To(Equal(died))
			a.Thaw()
			a.Link.Heal()
			lines := a.Log.String()
			bubble.Sleep(time.Second)
			polls := f.Target.Polls(id)
			last := polls[len(polls)-1]
			g.Expect(last.End).To(Equal(died))
			g.Expect(last.Canceled).To(BeTrue())
			g.Expect(f.Mini.PubSubNumPat()).To(Equal(subscribers / 2))
			g.Expect(f.Owners()).To(HaveKeyWithValue(id, a.Name), "nothing was given back")
			bubble.Sleep(2 * ttl)
			g.Expect(f.Loads()).To(Equal(map[string]int{b.Name: 6}))
			g.Expect(pollsOf(f, a, died)).To(BeEmpty())
			g.Expect(a.Log.String()).To(Equal(lines))
		})
	})
})

var _ = Describe("a member that vanishes", func() {
	It("leaves its connections and polls behind, and acts no more", func() {
		pair(func(g Gomega, f *nodetest.Fleet, a, b *nodetest.Member) {
			id, begun := polling(g, f, a, nodetest.Behavior{Delay: 20 * time.Second})
			subscribers := f.Mini.PubSubNumPat()
			a.Vanish()
			died := time.Now()
			bubble.Sleep(time.Second)
			g.Expect(f.Mini.PubSubNumPat()).To(Equal(subscribers))
			bubble.Sleep(20 * time.Second)
			polls := f.Target.Polls(id)
			last := polls[len(polls)-1]
			g.Expect(last.End).To(BeTemporally("~", begun.Add(20*time.Second), 100*time.Millisecond),
				"neither its timeout nor its end are seen")
			bubble.Sleep(2 * ttl)
			g.Expect(f.Loads()).To(Equal(map[string]int{b.Name: 6}))
			g.Expect(pollsOf(f, a, died)).To(BeEmpty())
		})
	})
})

var _ = Describe("a member whose wall clock is set", func() {
	It("gives up its leases where it was set forward", func() {
		pair(func(g Gomega, _ *nodetest.Fleet, a, b *nodetest.Member) {
			a.JumpWall(time.Hour)
			bubble.Sleep(2 * time.Second)
			g.Expect(a.Log.Events("lease.expired")).To(HaveLen(3))
			g.Expect(b.Log.Events("lease.expired")).To(BeEmpty())
		})
	})

	It("trusts no lease longer where it was set back", func() {
		pair(func(g Gomega, f *nodetest.Fleet, a, _ *nodetest.Member) {
			a.JumpWall(-time.Hour)
			bubble.Sleep(ttl)
			g.Expect(a.Log.Events("lease.expired")).To(BeEmpty())
			a.Link.Freeze()
			at := time.Now()
			bubble.Sleep(2 * ttl)
			g.Expect(a.Log.Events("lease.expired")).To(HaveLen(3))
			for _, p := range pollsOf(f, a, at) {
				g.Expect(p.Start).To(BeTemporally("<", at.Add(ttl)))
			}
			a.Link.Heal()
		})
	})
})

var _ = Describe("the Redis of a fleet", func() {
	It("restarts with its data: everyone keeps what they have", func() {
		pair(func(g Gomega, f *nodetest.Fleet, a, _ *nodetest.Member) {
			owners, tokens := f.Owners(), f.Tokens()
			f.RestartRedis(true)
			bubble.Sleep(ttl)
			g.Expect(f.Owners()).To(Equal(owners))
			g.Expect(f.Tokens()).To(Equal(tokens))
			g.Expect(a.Log.Events("events.subscribed")).To(HaveLen(2), "flags are set anew")
		})
	})

	It("restarts empty: documents and leases are gone", func() {
		pair(func(g Gomega, f *nodetest.Fleet, _, _ *nodetest.Member) {
			f.RestartRedis(false)
			g.Expect(f.Mini.Keys()).To(BeEmpty())
			f.PutMany(6, 10*time.Second)
			bubble.Sleep(2*ttl + 12*time.Second)
			g.Expect(f.Owners()).To(HaveLen(6))
			g.Expect(f.Target.Overlaps()).To(BeEmpty())
		})
	})

	It("fails over to what a replica had", func() {
		pair(func(g Gomega, f *nodetest.Fleet, _, _ *nodetest.Member) {
			replica := f.Mini.Snapshot()
			bubble.Sleep(100 * time.Millisecond)
			f.Put("late", `{"url":"http://192.0.2.1/"}`)
			f.FailOver(replica)
			g.Expect(f.Client.Exists(context.Background(), "session:late").Val()).To(BeZero())
			bubble.Sleep(2*ttl + 12*time.Second)
			g.Expect(f.Owners()).To(HaveLen(6))
			g.Expect(f.Target.Overlaps()).To(BeEmpty())
		})
	})
})
