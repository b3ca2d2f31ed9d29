package tenure_test

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"leasehold/actors/poller"
	"leasehold/actors/renewer"
	"leasehold/actors/tenure"
	"leasehold/actors/tree"
	"leasehold/internal/actortest"
	"leasehold/internal/bubble"
	"leasehold/lease"
	"leasehold/lease/cell"
	"leasehold/session"
)

const trust = 28 * time.Second

var errLost = errors.New("another has it")

type (
	letEnd struct{}
	crash  struct{}
)

// bench is one tenure under a spec, with a probe as its parent. It is the watcher,
// which takes its time while hold is locked, and the poller below.
type bench struct {
	system *actortest.System
	parent *actortest.Probe
	cell   *cell.Cell
	pid    *actor.PID
	slow   time.Duration // a watcher's time

	mu     sync.Mutex
	tenure *tenure.Tenure
	heard  []string
	below  *actor.PID
	got    []any // by the poller
}

func (b *bench) note(what string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.heard = append(b.heard, what)
}

func (b *bench) Open(t *tenure.Tenure) {
	b.tenure = t
	b.note("open")
}

func (b *bench) Tell(t *tenure.Tenure, c tenure.Change) {
	name := map[tenure.Change]string{
		tenure.Acquired: "acquired", tenure.Uncertain: "uncertain", tenure.Certain: "certain", tenure.Ended: "ended",
	}[c]
	if t.Context().Err() != nil {
		name += " (context over)"
	}
	time.Sleep(b.slow)
	b.note(name)
}

func (b *bench) Close(*tenure.Tenure) { b.note("close") }

func (b *bench) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *actor.Started:
		b.below = c.Self()
	case *letEnd:
		c.Stop(c.Self())
	case *crash:
		panic("planned")
	case *actor.Stopped:
		b.note("poller over")
	case poller.Message:
		b.mu.Lock()
		defer b.mu.Unlock()
		b.got = append(b.got, m)
	}
}

// run gives a spec a tenure that began now; polling says whether there is a poller.
func run(polling bool, f func(g Gomega, b *bench)) {
	GinkgoHelper()
	bubble.Run(func(g Gomega) {
		b := &bench{system: actortest.NewSystem()}
		defer b.system.Close()
		b.parent = b.system.NewProbe(nil)
		defer b.parent.Stop()
		b.cell = cell.New(context.Background(), lease.Term{
			Grant: lease.Grant{Session: "s", Holder: "n", Token: 7}, TrustedUntil: time.Now().Add(trust),
		})
		cfg := tenure.Config{
			Watcher: b, Report: b.system.Report,
			Opened: func(*tenure.Tenure) { b.note("opened") },
		}
		if polling {
			cfg.Poller = func(poller.Config) *actor.Props {
				return tree.Props(func() actor.Actor { return b }, b.system.Report)
			}
		}
		b.pid = b.parent.Spawn(tenure.Maker(cfg)(poller.Config{Cell: b.cell}), "tenure")
		bubble.Sleep(0)
		f(g, b)
	})
}

func (b *bench) tell(m any) {
	b.system.Root.Send(b.pid, m)
	bubble.Sleep(0)
}

var _ = Describe("a tenure of work that nobody polls", func() {
	It("is known before anybody is told, and usable", func() {
		run(false, func(g Gomega, b *bench) {
			g.Expect(b.heard).To(Equal([]string{"open", "opened", "acquired"}))
			g.Expect(b.tenure.Usable()).To(BeTrue())
			g.Expect(b.tenure.Cell()).To(BeIdenticalTo(b.cell))
			g.Expect(b.tenure.Since()).To(Equal(time.Now()))
		})
	})

	It("ends its context, tells it, and only then ends itself", func() {
		run(false, func(g Gomega, b *bench) {
			b.slow = 10 * time.Second
			b.tell(&poller.Stop{})
			g.Expect(context.Cause(b.tenure.Context())).To(MatchError(tenure.ErrGivenBack))
			g.Expect(b.tenure.Usable()).To(BeFalse())
			g.Expect(b.cell.Usable()).To(BeTrue(), "the lease is held until the work has ended")
			bubble.Sleep(b.slow - 1)
			g.Expect(b.parent.Got()).To(BeEmpty())
			bubble.Sleep(1)
			g.Expect(b.heard[3:]).To(Equal([]string{"ended (context over)", "close"}))
			g.Expect(b.parent.Kinds()).To(Equal([]string{"Terminated"}))
		})
	})

	It("ends with the cell, by the cell's own cause, and waits for who is told", func() {
		run(false, func(g Gomega, b *bench) {
			b.cell.Kill(errLost)
			g.Expect(context.Cause(b.tenure.Context())).To(MatchError(errLost))
			b.tell(&poller.Stop{Abort: true})
			b.tell(&poller.Stop{Abort: true})
			g.Expect(b.heard[3:]).To(Equal([]string{"ended (context over)", "close"}))
			g.Expect(b.parent.Kinds()).To(Equal([]string{"Terminated"}))
		})
	})

	It("tells of doubt and of its end, each once, in order, however slow the watcher", func() {
		run(false, func(g Gomega, b *bench) {
			b.slow = time.Second
			b.tell(&poller.Resume{})
			b.tell(&renewer.Suspended{})
			b.tell(&renewer.Suspended{})
			b.tell(&poller.Resume{})
			b.tell(&renewer.Suspended{})
			b.tell(&poller.Resume{})
			bubble.Sleep(10 * time.Second)
			b.tell(&poller.Stop{})
			b.tell(&renewer.Suspended{})
			bubble.Sleep(10 * time.Second)
			g.Expect(b.heard[3:]).To(Equal([]string{
				"uncertain", "certain", "uncertain", "certain", "ended (context over)", "close",
			}))
		})
	})

	It("that is stopped by a failure waits for who is being told, and leaves nothing untold", func() {
		run(false, func(g Gomega, b *bench) {
			b.slow = time.Minute
			b.tell(&renewer.Suspended{})
			b.tell(&poller.Resume{})
			b.parent.StopChild(b.pid)
			bubble.Sleep(0)
			g.Expect(b.tenure.Context().Err()).To(HaveOccurred())
			bubble.Sleep(3*time.Minute - 1)
			g.Expect(b.parent.Got()).To(BeEmpty())
			bubble.Sleep(1)
			g.Expect(b.heard[3:]).To(Equal([]string{"uncertain", "certain (context over)", "ended (context over)", "close"}))
			g.Expect(b.parent.Kinds()).To(Equal([]string{"Terminated"}))
		})
	})
})

var _ = Describe("a tenure with a poller", func() {
	It("passes on what the leaseholder tells the poller, and back what that says", func() {
		run(true, func(g Gomega, b *bench) {
			update := &poller.Update{Session: &session.Session{ID: "s"}}
			b.tell(update)
			b.tell(&poller.Resume{})
			b.tell(&poller.Failed{RetryIn: time.Second})
			g.Expect(b.got).To(Equal([]any{update, &poller.Resume{}}))
			g.Expect(b.parent.Got()).To(Equal([]any{&poller.Failed{RetryIn: time.Second}}))
		})
	})

	It("ends its context at once, and itself after the poll has ended", func() {
		run(true, func(g Gomega, b *bench) {
			b.tell(&poller.Stop{})
			g.Expect(b.tenure.Context().Err()).To(HaveOccurred())
			bubble.Sleep(10 * time.Second)
			b.tell(&poller.Stop{Abort: true})
			g.Expect(b.got).To(Equal([]any{&poller.Stop{}, &poller.Stop{Abort: true}}))
			g.Expect(b.heard[3:]).To(BeEmpty())
			b.system.Root.Send(b.below, &letEnd{})
			bubble.Sleep(0)
			g.Expect(b.heard[3:]).To(Equal([]string{"poller over", "ended (context over)", "close"}))
			g.Expect(b.parent.Kinds()).To(Equal([]string{"Terminated"}))
		})
	})

	It("ends with a poller that failed", func() {
		run(true, func(g Gomega, b *bench) {
			b.system.Root.Send(b.below, &crash{})
			bubble.Sleep(0)
			g.Expect(context.Cause(b.tenure.Context())).To(MatchError(tenure.ErrGivenBack))
			g.Expect(b.parent.Kinds()).To(Equal([]string{"Terminated"}))
			g.Expect(b.heard[3:]).To(Equal([]string{"poller over", "ended (context over)", "close"}))
		})
	})

	It("that is stopped by a failure tells of its end after the poller's", func() {
		run(true, func(g Gomega, b *bench) {
			b.parent.StopChild(b.pid)
			bubble.Sleep(0)
			g.Expect(b.heard[3:]).To(Equal([]string{"poller over", "ended (context over)", "close"}))
		})
	})
})
