package keeper

import (
	"errors"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"leasehold/actors/membership"
	"leasehold/internal/actortest"
	"leasehold/internal/bubble"
	"leasehold/redisevents"
)

var errRedis = errors.New("no answer from Redis")

// idle is a leaseholder that does nothing.
type idle struct{}

func (idle) Receive(actor.Context) {}

// eventful announces what it is given.
type eventful struct{ queued []redisevents.Event }

func (e *eventful) Take() []redisevents.Event {
	all := e.queued
	e.queued = nil
	return all
}

func (*eventful) Healthy() bool { return true }

var _ = Describe("a keeper that starts after Redis lost data", func() {
	// run has take ask for a session, and returns the answer; nil while there is none.
	run := func(d *desktop, f func(g Gomega, take func(session string) *Taken, events *eventful, tell func())) {
		GinkgoHelper()
		bubble.Run(func(g Gomega) {
			s := actortest.NewSystem()
			defer s.Close()
			parent, renewals, events := s.NewProbe(nil), s.NewProbe(nil), &eventful{}
			defer parent.Stop()
			pid := parent.Spawn(keeperOf(s, d, events, renewals, idle{}), "keeper")
			tell := func() {
				parent.Do(func(c actor.Context) { c.Send(pid, &membership.EventsReady{}) })
				bubble.Sleep(0)
			}
			take := func(session string) *Taken {
				var got *Taken
				d.requests = append(d.requests, &Take{Session: session, Answer: func(t Taken) bool {
					got = &t
					return true
				}})
				tell()
				return got
			}
			f(g, take, events, tell)
		})
	}

	It("takes what is free where nobody has noted it, and asks once", func() {
		d := &desktop{}
		run(d, func(g Gomega, take func(string) *Taken, _ *eventful, _ func()) {
			g.Expect(take("s")).To(BeNil(), "its leaseholder opens it")
			g.Expect(take("t")).To(BeNil())
			g.Expect(d.asked).To(Equal(1))
		})
	})

	It("holds off where somebody has, for as long as those do which saw it", func() {
		d := &desktop{noted: true, ago: 10 * time.Second}
		run(d, func(g Gomega, take func(string) *Taken, _ *eventful, _ func()) {
			g.Expect(take("s")).To(Equal(&Taken{Err: ErrHeldOff}))
			bubble.Sleep(ttl - 10*time.Second - 1)
			g.Expect(take("s")).To(Equal(&Taken{Err: ErrHeldOff}))
			g.Expect(d.asked).To(Equal(1))
			bubble.Sleep(time.Second)
			g.Expect(take("s")).To(BeNil())
			g.Expect(d.tells).To(BeZero(), "it did not see it itself")
		})
	})

	It("takes nothing before it knows", func() {
		d := &desktop{unknown: true}
		run(d, func(g Gomega, take func(string) *Taken, _ *eventful, _ func()) {
			g.Expect(take("s")).To(Equal(&Taken{Err: errRedis}))
			bubble.Sleep(time.Hour)
			g.Expect(take("s")).To(Equal(&Taken{Err: errRedis}))
			d.unknown = false
			g.Expect(take("s")).To(BeNil())
		})
	})

	// It may have been cut off since it started, so that it saw nothing.
	It("asks with its first claim, however long ago it started", func() {
		d := &desktop{noted: true}
		run(d, func(g Gomega, take func(string) *Taken, _ *eventful, _ func()) {
			bubble.Sleep(time.Hour)
			g.Expect(take("s")).To(Equal(&Taken{Err: ErrHeldOff}))
		})
	})

	It("is told by one that sees it", func() {
		d := &desktop{}
		run(d, func(g Gomega, take func(string) *Taken, events *eventful, tell func()) {
			events.queued = []redisevents.Event{redisevents.Gap{Restarted: true}}
			tell()
			g.Expect(d.tells).To(Equal(1))
			g.Expect(take("s")).To(Equal(&Taken{Err: ErrHeldOff}))
			g.Expect(d.asked).To(BeZero())
		})
	})
})
