package keeper

import (
	"context"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"leasehold/actors/leaseholder"
	"leasehold/actors/membership"
	"leasehold/actors/tenure"
	"leasehold/actors/tree"
	"leasehold/internal/actortest"
	"leasehold/internal/bubble"
	"leasehold/lease"
	"leasehold/redisevents"
)

// desktop is all that a keeper has around it: a store that grants after a while, no
// events, and requests that wait.
type desktop struct {
	lease.Store
	lease.Members

	takes    time.Duration
	requests []Request
	noted    bool          // somebody noted a loss of data
	ago      time.Duration // that he saw it
	unknown  bool          // whether there is a note has no answer
	asked    int           // how often that was asked
	tells    int           // notes written
}

func (d *desktop) LossNoted(context.Context) (time.Duration, bool, error) {
	d.asked++
	if d.unknown {
		return 0, false, errRedis
	}
	return d.ago, d.noted, nil
}

func (d *desktop) NoteLoss(_ context.Context, instance string, keep time.Duration) error {
	if instance != "me" || keep != ttl {
		panic("another's note")
	}
	d.tells++
	return nil
}

func (d *desktop) Acquire(_ context.Context, holder string, claims []lease.Claim) []lease.Outcome {
	time.Sleep(d.takes)
	out := make([]lease.Outcome, len(claims))
	for i, c := range claims {
		out[i] = lease.Outcome{Session: c.Session, Granted: true, Holder: holder, Token: 7}
	}
	return out
}

func (d *desktop) Next() []Request {
	all := d.requests
	d.requests = nil
	return all
}

func (*desktop) Take() []redisevents.Event { return nil }
func (*desktop) Healthy() bool             { return true }

// keeperOf returns the props of a keeper at the desktop, whose leaseholders are all this one.
func keeperOf(s *actortest.System, d *desktop, events membership.Events, renewals *actortest.Probe, holder actor.Actor) *actor.Props {
	return Props(Config{
		Context: context.Background(), Holder: "me", TTL: ttl, Margin: margin,
		Store: d, Members: d, Requests: d, Events: events, Renewer: renewals.PID(), Owned: func(int) {},
		Leaseholders: func(func(*tenure.Tenure)) func(leaseholder.Config) *actor.Props {
			return func(leaseholder.Config) *actor.Props {
				return tree.Props(func() actor.Actor { return holder }, s.Report)
			}
		},
		Log: s.Log, Report: s.Report,
	})
}

// crash is a leaseholder that fails as it starts.
type crash struct{}

func (crash) Receive(c actor.Context) {
	if _, ok := c.Message().(*actor.Started); ok {
		panic("planned")
	}
}

var _ = Describe("a keeper that fails, or whose leaseholder does", func() {
	run := func(takes time.Duration, f func(g Gomega, parent, renewals *actortest.Probe, keeper *actor.PID, got *[]Taken)) {
		GinkgoHelper()
		bubble.Run(func(g Gomega) {
			s := actortest.NewSystem()
			defer s.Close()
			parent, renewals := s.NewProbe(nil), s.NewProbe(nil)
			defer parent.Stop()
			var got []Taken
			d := &desktop{takes: takes, requests: []Request{&Take{Session: "s", Answer: func(t Taken) bool {
				got = append(got, t)
				return true
			}}}}
			pid := parent.Spawn(keeperOf(s, d, d, renewals, crash{}), "keeper")
			bubble.Sleep(0)
			f(g, parent, renewals, pid, &got)
		})
	}

	It("leaves nobody without an answer, also who had asked before it was made", func() {
		run(time.Minute, func(g Gomega, parent, _ *actortest.Probe, keeper *actor.PID, got *[]Taken) {
			g.Expect(*got).To(BeEmpty())
			parent.StopChild(keeper)
			bubble.Sleep(0)
			g.Expect(*got).To(Equal([]Taken{{Err: ErrFailed}}))
			bubble.Sleep(time.Hour)
			g.Expect(*got).To(HaveLen(1))
		})
	})

	It("gives the lease back, and drains only after that", func() {
		run(0, func(g Gomega, parent, renewals *actortest.Probe, keeper *actor.PID, got *[]Taken) {
			g.Expect(*got).To(Equal([]Taken{{Err: ErrFailed}}))
			g.Expect(renewals.Kinds()).To(Equal([]string{"Release"}))
			parent.Do(func(c actor.Context) { c.Send(keeper, &membership.Drain{}) })
			bubble.Sleep(0)
			g.Expect(parent.Kinds()).To(BeEmpty(), "the release is on its way")
		})
	})
})
