package leaseholder_test

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"leasehold/actors/leaseholder"
	"leasehold/actors/poller"
	"leasehold/actors/renewer"
	"leasehold/actors/tree"
	"leasehold/gate"
	"leasehold/internal/actortest"
	"leasehold/internal/bubble"
	"leasehold/lease"
	"leasehold/lease/cell"
	"leasehold/lease/leasetest"
	"leasehold/session"
)

const (
	ttl    = 30 * time.Second
	margin = 2 * time.Second
)

func grant() lease.Grant { return lease.Grant{Session: "s", Holder: "n1", Token: 7} }

func doc() *session.Session {
	return &session.Session{ID: "s", Interval: 10 * time.Second, Timeout: 5 * time.Second, OnFailure: session.Keep}
}

// idle is a poller that records what it is told and ends when the spec lets it.
type (
	letEnd struct{}
	crash  struct{}
)

// bench is one leaseholder under a spec, with a probe as its parent, one as its
// renewer, and a stub as its poller.
type bench struct {
	g               Gomega
	system          *actortest.System
	parent, renewer *actortest.Probe
	poller          *actor.PID
	mu              sync.Mutex
	got             []any // by the poller
	cell            *cell.Cell
	pid             *actor.PID
}

func (b *bench) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *actor.Started:
		b.poller = c.Self()
	case *letEnd:
		c.Stop(c.Self())
	case *crash:
		panic("planned")
	case poller.Message, *renewer.Suspended:
		b.mu.Lock()
		defer b.mu.Unlock()
		b.got = append(b.got, m)
	}
}

// told returns what the poller was told so far.
func (b *bench) told() []any {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.got
}

// run gives a spec a leaseholder whose lease was granted now.
func run(f func(g Gomega, b *bench)) {
	GinkgoHelper()
	bubble.Run(func(g Gomega) {
		b := &bench{g: g, system: actortest.NewSystem()}
		defer b.system.Close()
		b.renewer = b.system.NewProbe(nil)
		b.parent = b.system.NewProbe(stopEnded)
		defer b.parent.Stop()
		deps := &leaseholder.Deps{
			Context: context.Background(), Renewer: b.renewer.PID(), Log: b.system.Log, Report: b.system.Report,
			Poller: func(cfg poller.Config) *actor.Props {
				b.cell = cfg.Cell
				return tree.Props(func() actor.Actor { return b }, b.system.Report)
			},
		}
		b.pid = b.parent.Spawn(leaseholder.Maker(deps)(config()), "s.7.1")
		bubble.Sleep(0)
		f(g, b)
	})
}

func config() leaseholder.Config {
	return leaseholder.Config{
		Term: lease.NewTerm(grant(), time.Now(), ttl, margin), TTL: ttl, Session: doc(),
	}
}

// stopEnded is what a parent does when a leaseholder reports its end.
func stopEnded(c actor.Context, message any) {
	if _, ok := message.(*leaseholder.Ended); ok {
		c.Stop(c.Sender())
	}
}

func (b *bench) tell(m any) {
	b.system.Root.Send(b.pid, m)
	bubble.Sleep(0)
}

func (b *bench) endPoller() {
	b.system.Root.Send(b.poller, &letEnd{})
	bubble.Sleep(0)
}

func (b *bench) releases() []*renewer.Release { return actortest.All[*renewer.Release](b.renewer) }

func (b *bench) ended() []*leaseholder.Ended { return actortest.All[*leaseholder.Ended](b.parent) }

var _ = Describe("a leaseholder that holds its lease", func() {
	It("has the lease renewed and one poller under its cell", func() {
		run(func(g Gomega, b *bench) {
			tracks := actortest.All[*renewer.Track](b.renewer)
			g.Expect(tracks).To(HaveLen(1))
			g.Expect(tracks[0].Cell).To(BeIdenticalTo(b.cell))
			g.Expect(tracks[0].TTL).To(Equal(ttl))
			g.Expect(b.cell.Grant()).To(Equal(grant()))
			g.Expect(b.cell.TrustedUntil()).To(BeTemporally("==", time.Now().Add(ttl-margin)))
		})
	})

	It("passes a changed document on, and a changed TTL to the renewer", func() {
		run(func(g Gomega, b *bench) {
			s := doc()
			s.URL = "http://192.0.2.2/"
			b.tell(&leaseholder.Update{Session: s, TTL: ttl})
			g.Expect(b.told()).To(Equal([]any{&poller.Update{Session: s}}))
			g.Expect(actortest.Count[*renewer.Track](b.renewer)).To(Equal(1))

			b.tell(&leaseholder.Update{Session: s, TTL: 5 * time.Second})
			tracks := actortest.All[*renewer.Track](b.renewer)
			g.Expect(tracks).To(HaveLen(2))
			g.Expect(tracks[1].TTL).To(Equal(5 * time.Second))
			g.Expect(tracks[1].Cell).To(BeIdenticalTo(b.cell))
		})
	})

	It("has its lease verified when it is told to", func() {
		run(func(g Gomega, b *bench) {
			b.tell(&leaseholder.Verify{})
			g.Expect(actortest.All[*renewer.Verify](b.renewer)).To(Equal([]*renewer.Verify{{Grant: grant()}}))
		})
	})

	It("wakes its poller when renewals succeed again, and not otherwise", func() {
		run(func(g Gomega, b *bench) {
			b.tell(&renewer.Renewed{})
			g.Expect(b.told()).To(BeEmpty())
			b.tell(&renewer.Suspended{})
			b.tell(&renewer.Renewed{})
			b.tell(&renewer.Renewed{})
			g.Expect(b.told()).To(Equal([]any{&renewer.Suspended{}, &poller.Resume{}}))
		})
	})

	It("does not speak of renewals to a poller that is to end", func() {
		run(func(g Gomega, b *bench) {
			b.tell(&leaseholder.Release{Reason: leaseholder.Asked})
			b.tell(&renewer.Suspended{})
			b.tell(&renewer.Renewed{})
			g.Expect(b.told()).To(Equal([]any{&poller.Stop{}}))
		})
	})
})

var _ = Describe("a leaseholder that gives its lease back", func() {
	It("does not release until the poll has ended, and reports once the release is answered", func() {
		run(func(g Gomega, b *bench) {
			b.tell(&leaseholder.Release{Reason: leaseholder.Rebalance})
			g.Expect(b.told()).To(Equal([]any{&poller.Stop{}}))
			bubble.Sleep(10 * time.Second)
			g.Expect(b.releases()).To(BeEmpty())
			g.Expect(b.cell.Usable()).To(BeTrue(), "the poll in flight goes on")
			giveUp := b.cell.TrustedUntil()
			b.endPoller()
			g.Expect(b.releases()).To(HaveLen(1))
			g.Expect(b.releases()[0].Release).To(Equal(lease.Release{Grant: grant()}))
			g.Expect(b.releases()[0].GiveUp).To(Equal(giveUp))
			g.Expect(b.cell.Usable()).To(BeFalse(), "nobody works under a lease that is given back")
			g.Expect(b.parent.Got()).To(BeEmpty())

			b.tell(&renewer.Released{Grant: grant()})
			g.Expect(b.parent.Kinds()).To(Equal([]string{"Ended", "Terminated"}))
			g.Expect(b.ended()[0]).To(Equal(&leaseholder.Ended{Grant: grant(), Released: true, Trusted: b.cell.TrustedUntil(), Reason: leaseholder.Rebalance}))
			g.Expect(b.system.Events("lease.released")).To(HaveLen(1))
			g.Expect(b.system.Events("lease.lost")).To(BeEmpty())
		})
	})

	It("cancels the poll where the session must not be polled any more", func() {
		for _, reason := range []leaseholder.Reason{leaseholder.Paused, leaseholder.Deleted} {
			run(func(g Gomega, b *bench) {
				b.tell(&leaseholder.Release{Reason: reason})
				g.Expect(b.told()).To(Equal([]any{&poller.Stop{Abort: true}}))
				b.endPoller()
				g.Expect(b.releases()[0].Release.Forget).To(Equal(reason == leaseholder.Deleted), "the state goes with the document")
			})
		}
	})

	It("cancels the poll that it waits for when it is told to abort", func() {
		run(func(g Gomega, b *bench) {
			b.tell(&leaseholder.Abort{})
			g.Expect(b.told()).To(BeEmpty(), "nothing is being given back")
			b.tell(&leaseholder.Release{Reason: leaseholder.Shutdown})
			b.tell(&leaseholder.Abort{})
			g.Expect(b.told()).To(Equal([]any{&poller.Stop{}, &poller.Stop{Abort: true}}))
		})
	})

	It("releases after a failed poll, and says when the fleet retries", func() {
		run(func(g Gomega, b *bench) {
			b.tell(&poller.Failed{RetryIn: 4 * time.Second})
			g.Expect(b.told()).To(Equal([]any{&poller.Stop{}}))
			b.endPoller()
			b.tell(&renewer.Released{Grant: grant()})
			g.Expect(b.ended()[0]).To(Equal(&leaseholder.Ended{
				Grant: grant(), Released: true, Trusted: b.cell.TrustedUntil(), Reason: leaseholder.Failure, RetryIn: 4 * time.Second,
			}))
		})
	})

	It("gives the lease back when the poller failed, and reports a fault", func() {
		run(func(g Gomega, b *bench) {
			b.system.Root.Send(b.poller, &crash{})
			bubble.Sleep(0)
			g.Expect(b.releases()).To(HaveLen(1))
			b.tell(&renewer.Released{Grant: grant()})
			g.Expect(b.ended()[0]).To(Equal(&leaseholder.Ended{
				Grant: grant(), Released: true, Trusted: b.cell.TrustedUntil(), Reason: leaseholder.Failure, Fault: true,
			}))
		})
	})

	It("ends also when the release had no answer, and says that the lease runs out", func() {
		run(func(g Gomega, b *bench) {
			b.tell(&leaseholder.Release{Reason: leaseholder.Shutdown})
			b.endPoller()
			b.tell(&renewer.Released{Grant: grant(), Err: errors.New("no answer")})
			g.Expect(b.ended()).To(HaveLen(1))
			g.Expect(b.ended()[0].Err).To(MatchError("no answer"))
			g.Expect(b.system.Events("lease.released")).To(BeEmpty())
			g.Expect(b.system.Events("lease.expired")).To(HaveLen(1))
		})
	})

	It("ignores late news of renewals and of its cell", func() {
		run(func(g Gomega, b *bench) {
			b.tell(&leaseholder.Release{Reason: leaseholder.Shutdown})
			b.endPoller()
			told := len(b.told())
			b.tell(&renewer.Suspended{})
			b.tell(&renewer.Renewed{})
			bubble.Sleep(time.Minute)
			g.Expect(b.told()).To(HaveLen(told))
			g.Expect(b.releases()).To(HaveLen(1))
			g.Expect(b.parent.Got()).To(BeEmpty())
			g.Expect(b.system.Events("lease.expired")).To(BeEmpty())
		})
	})
})

var _ = Describe("a leaseholder that lost its lease", func() {
	It("cancels its poll when a renewal was refused, and releases nothing", func() {
		run(func(g Gomega, b *bench) {
			b.cell.Kill(lease.ErrLost)
			bubble.Sleep(0)
			g.Expect(b.told()).To(Equal([]any{&poller.Stop{Abort: true}}))
			bubble.Sleep(time.Minute)
			g.Expect(b.parent.Got()).To(BeEmpty(), "the poll has not ended yet")
			b.endPoller()
			g.Expect(b.releases()).To(BeEmpty())
			g.Expect(actortest.All[*renewer.Untrack](b.renewer)).To(Equal([]*renewer.Untrack{{Grant: grant()}}))
			g.Expect(b.parent.Kinds()).To(Equal([]string{"Ended", "Terminated"}))
			g.Expect(b.ended()[0].Released).To(BeFalse())
			g.Expect(b.system.Events("lease.lost")).To(HaveLen(1))
		})
	})

	It("cancels its poll at the end of trust when nobody renews", func() {
		run(func(g Gomega, b *bench) {
			bubble.Sleep(ttl - margin - 1)
			g.Expect(b.told()).To(BeEmpty())
			bubble.Sleep(1)
			g.Expect(b.cell.Context().Err()).To(HaveOccurred())
			g.Expect(b.told()).To(Equal([]any{&poller.Stop{Abort: true}}))
			g.Expect(b.system.Events("lease.expired")).To(HaveLen(1))
			b.endPoller()
			g.Expect(b.releases()).To(BeEmpty())
			g.Expect(b.ended()).To(HaveLen(1))
		})
	})

	It("is lost too while it was being given back, and a later wish changes nothing", func() {
		run(func(g Gomega, b *bench) {
			b.tell(&leaseholder.Release{Reason: leaseholder.Rebalance})
			b.cell.Kill(lease.ErrLost)
			bubble.Sleep(0)
			g.Expect(b.told()).To(Equal([]any{&poller.Stop{}, &poller.Stop{Abort: true}}))
			b.tell(&leaseholder.Release{Reason: leaseholder.Deleted})
			b.endPoller()
			g.Expect(b.releases()).To(BeEmpty())
			g.Expect(b.ended()[0].Released).To(BeFalse())
		})
	})
})

var _ = Describe("a leaseholder that is stopped or fails", func() {
	It("kills the cell before its poller is stopped, and gives nothing back", func() {
		for _, how := range []string{"stopped", "failed"} {
			run(func(g Gomega, b *bench) {
				if how == "stopped" {
					b.parent.StopChild(b.pid)
				} else {
					b.tell((*leaseholder.Update)(nil))
				}
				bubble.Sleep(0)
				g.Expect(b.cell.Context().Err()).To(HaveOccurred())
				g.Expect(b.parent.Kinds()).To(Equal([]string{"Terminated"}))
				g.Expect(b.releases()).To(BeEmpty())
				g.Expect(actortest.Count[*renewer.Untrack](b.renewer)).To(Equal(1))
			})
		}
	})
})

var _ = Describe("the report of a leaseholder's end", func() {
	It("comes before Terminated, also to a parent that is busy", func() {
		bubble.Run(func(g Gomega) {
			system := actortest.NewSystem()
			defer system.Close()
			renewer := system.NewProbe(nil)
			parent := system.NewProbe(stopEnded)
			defer parent.Stop()
			deps := &leaseholder.Deps{
				Context: context.Background(), Renewer: renewer.PID(), Log: system.Log, Report: system.Report,
				Poller: func(poller.Config) *actor.Props {
					return tree.Props(func() actor.Actor { return stopper{} }, nil)
				},
			}
			cfg := config()
			cfg.Term.TrustedUntil = time.Now().Add(time.Second)
			parent.Spawn(leaseholder.Maker(deps)(cfg), "s.7.1")
			parent.Do(func(actor.Context) { time.Sleep(2 * time.Second) }) // the end comes meanwhile
			bubble.Sleep(0)
			g.Expect(parent.Kinds()).To(Equal([]string{"Ended", "Terminated"}))
		})
	})
})

// stopper is a poller that ends as soon as it is told to.
type stopper struct{}

func (stopper) Receive(c actor.Context) {
	if _, ok := c.Message().(*poller.Stop); ok {
		c.Stop(c.Self())
	}
}

// hung is a store and ledger under which a lease was once granted.
type hung struct{ lease.Ledger }

func (hung) Begin(context.Context, lease.Grant, lease.Slot) (lease.Start, error) {
	return lease.Start{At: time.Now()}, nil
}

func (hung) Finish(context.Context, lease.Grant, lease.Result) error { return nil }

var _ = Describe("leaseholder, renewer and poller together", func() {
	It("end the poll in flight at the term's end when Redis hangs, and release nothing", func() {
		bubble.Run(func(g Gomega) {
			system := actortest.NewSystem()
			defer system.Close()
			store := leasetest.NewFlaky(nil, nil)
			store.Always(leasetest.Hang)
			began := time.Now()
			canceledAt := make(chan time.Duration, 1)
			pollers := &poller.Deps{
				Ledger: hung{}, Question: func() int64 { return 1 }, Gate: gate.New(1), Log: system.Log,
				Poll: func(ctx context.Context, _ poller.Job) poller.Outcome {
					<-ctx.Done()
					canceledAt <- time.Since(began)
					return poller.Outcome{Class: poller.Canceled, Err: ctx.Err()}
				},
			}
			parent := system.NewProbe(stopEnded)
			defer parent.Stop()
			renew := parent.Spawn(renewer.Props(renewer.Config{
				Context: context.Background(), Store: store, TTL: ttl, Interval: 10 * time.Second, Margin: margin, Log: system.Log,
			}), "renewer")
			deps := &leaseholder.Deps{
				Context: context.Background(), Renewer: renew, Log: system.Log,
				Poller: poller.Maker(pollers),
			}
			cfg := config()
			cfg.Session.Timeout = time.Hour
			parent.Spawn(leaseholder.Maker(deps)(cfg), "s.7.1")
			bubble.Sleep(ttl - margin)
			g.Expect(canceledAt).To(Receive(Equal(ttl - margin)))
			g.Expect(parent.Kinds()).To(Equal([]string{"Ended", "Terminated"}))
			g.Expect(store.Calls(leasetest.OpRelease)).To(BeZero())
			parent.StopChild(renew)
			bubble.Sleep(time.Minute) // the hanging renewal ends with its context
		})
	})
})
