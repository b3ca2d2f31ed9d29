package supervisor_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"leasehold/actors/membership"
	"leasehold/actors/supervisor"
	"leasehold/actors/tree"
	"leasehold/internal/actortest"
	"leasehold/internal/bubble"
)

type crash struct{}

// pair plays both actors and records what happens to them, by their names.
type pair struct {
	mu     sync.Mutex
	events []string
	pids   map[string]*actor.PID
	hold   time.Duration // membership takes so long to stop, as with polls in flight
	drains bool          // membership answers Drain
}

func (p *pair) note(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.events = append(p.events, fmt.Sprintf(format, args...))
}

func (p *pair) see() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.events...)
}

func (p *pair) pid(name string) *actor.PID {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.pids[name]
}

// part is one of the pair.
type part struct {
	pair *pair
	name string
}

func (a *part) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *actor.Started:
		a.name = c.Self().GetId()[len("supervisor/"):]
		a.pair.mu.Lock()
		a.pair.pids[a.name] = c.Self()
		a.pair.mu.Unlock()
		a.pair.note("%s starts", a.name)
	case *actor.Stopping:
		if a.name[0] == 'm' {
			time.Sleep(a.pair.hold) // the end of its pollers
		}
	case *actor.Stopped:
		a.pair.note("%s ends", a.name)
	case *crash:
		panic("planned")
	case *membership.Drain:
		a.pair.note("%s drains", a.name)
		if a.pair.drains {
			c.Send(c.Parent(), &membership.Drained{})
		}
	case *membership.Abort:
		a.pair.note("%s aborts", a.name)
		c.Send(c.Parent(), &membership.Drained{})
	case *membership.Fenced:
		a.pair.note("%s hears fenced=%t", a.name, m.Fenced)
	case *membership.EventsReady:
		a.pair.note("%s hears of events", a.name)
	}
}

// bench is a supervisor under a spec.
type bench struct {
	system  *actortest.System
	pair    *pair
	running *supervisor.Running
}

func run(f func(g Gomega, b *bench), change ...func(*supervisor.Config)) {
	GinkgoHelper()
	bubble.Run(func(g Gomega) {
		b := &bench{system: actortest.NewSystem(), pair: &pair{pids: map[string]*actor.PID{}, drains: true}}
		defer b.system.Close()
		props := func() *actor.Props {
			return tree.Props(func() actor.Actor { return &part{pair: b.pair} }, b.system.Report)
		}
		cfg := supervisor.Config{
			System: b.system.ActorSystem, Report: b.system.Report,
			Renewer:    props,
			Membership: func(*actor.PID) *actor.Props { return props() },
		}
		for _, c := range change {
			c(&cfg)
		}
		r, err := supervisor.Start(cfg)
		g.Expect(err).NotTo(HaveOccurred())
		b.running = r
		bubble.Sleep(0)
		f(g, b)
		r.Kill()
		bubble.Sleep(time.Minute)
	})
}

func (b *bench) crash(name string) {
	b.system.Root.Send(b.pair.pid(name), &crash{})
	bubble.Sleep(0)
}

func (b *bench) drain(ctx context.Context, grace time.Duration) error {
	err := b.running.Drain(ctx, grace)
	bubble.Sleep(0)
	return err
}

var _ = Describe("the supervisor", func() {
	It("makes the renewer, then membership, and passes messages to membership", func() {
		run(func(g Gomega, b *bench) {
			b.running.Tell(&membership.EventsReady{})
			bubble.Sleep(0)
			g.Expect(b.pair.see()).To(ContainElements("renewer.1 starts", "membership.1 starts", "membership.1 hears of events"))
		})
	})

	It("replaces both under new names when membership fails, after its pollers have ended", func() {
		run(func(g Gomega, b *bench) {
			b.pair.hold = 3 * time.Second
			b.crash("membership.1")
			bubble.Sleep(3*time.Second - 1)
			g.Expect(b.pair.see()).To(HaveLen(2), "nothing is replaced, and the renewer lives, while pollers may be at work")
			bubble.Sleep(1)
			g.Expect(b.pair.see()[2:]).To(Equal([]string{"membership.1 ends", "renewer.1 ends"}))
			bubble.Sleep(100 * time.Millisecond)
			g.Expect(b.pair.see()[4:]).To(ConsistOf("renewer.2 starts", "membership.2 starts"))
		})
	})

	It("replaces both when the renewer fails, also after membership's pollers have ended", func() {
		run(func(g Gomega, b *bench) {
			b.pair.hold = 3 * time.Second
			b.crash("renewer.1")
			bubble.Sleep(3*time.Second - 1)
			g.Expect(b.pair.see()[2:]).To(Equal([]string{"renewer.1 ends"}))
			bubble.Sleep(1)
			g.Expect(b.pair.see()[3:]).To(Equal([]string{"membership.1 ends"}))
			bubble.Sleep(100 * time.Millisecond)
			g.Expect(b.pair.see()[4:]).To(ConsistOf("renewer.2 starts", "membership.2 starts"))
		})
	})

	It("waits longer with each failure, and gives up after five in a minute", func() {
		run(func(g Gomega, b *bench) {
			for i, wait := range []int{100, 200, 400, 800, 1600} {
				b.crash(fmt.Sprint("membership.", i+1))
				bubble.Sleep(time.Duration(wait)*time.Millisecond - 1)
				g.Expect(b.pair.pid(fmt.Sprint("membership.", i+2))).To(BeNil())
				bubble.Sleep(1)
				g.Expect(b.pair.pid(fmt.Sprint("membership.", i+2))).NotTo(BeNil())
				g.Expect(b.running.Failed()).NotTo(Receive())
			}
			b.crash("membership.6")
			g.Expect(b.running.Failed()).To(Receive(MatchError(supervisor.ErrTooManyFailures)))
			bubble.Sleep(time.Minute)
			g.Expect(b.pair.pid("membership.7")).To(BeNil())
		})
	})

	It("forgets failures that are older than the window", func() {
		run(func(g Gomega, b *bench) {
			for i := range 20 {
				b.crash(fmt.Sprint("membership.", i+1))
				bubble.Sleep(15 * time.Second)
			}
			g.Expect(b.running.Failed()).NotTo(Receive())
			g.Expect(b.pair.pid("membership.21")).NotTo(BeNil())
		})
	})

	It("ends the node when it fails itself", func() {
		made := 0
		run(func(g Gomega, b *bench) {
			b.crash("membership.1")
			bubble.Sleep(100 * time.Millisecond)
			g.Expect(b.running.Failed()).To(Receive(HaveOccurred()))
		}, func(c *supervisor.Config) {
			first := c.Renewer
			c.Renewer = func() *actor.Props {
				made++
				if made > 1 {
					panic("planned")
				}
				return first()
			}
		})
	})

	It("tells a new pair that the node is fenced", func() {
		run(func(g Gomega, b *bench) {
			b.running.Tell(&membership.Fenced{Fenced: true})
			bubble.Sleep(0)
			b.crash("membership.1")
			bubble.Sleep(100 * time.Millisecond)
			g.Expect(b.pair.see()).To(ContainElement("membership.2 hears fenced=true"))
			b.running.Tell(&membership.Fenced{Fenced: false})
			bubble.Sleep(0)
			b.crash("membership.2")
			bubble.Sleep(200 * time.Millisecond)
			g.Expect(b.pair.see()).NotTo(ContainElement("membership.3 hears fenced=true"))
		})
	})

	It("stops both when it is killed, without a drain, and reports no failure", func() {
		run(func(g Gomega, b *bench) {
			b.running.Kill()
			bubble.Sleep(0)
			g.Expect(b.pair.see()).To(ContainElements("membership.1 ends", "renewer.1 ends"))
			g.Expect(b.pair.see()).NotTo(ContainElement("membership.1 drains"))
			g.Expect(b.running.Failed()).NotTo(Receive())
		})
	})
})

var _ = Describe("a drain of the tree", func() {
	It("is membership's, which stops when nothing is held, and the renewer stops last", func() {
		run(func(g Gomega, b *bench) {
			g.Expect(b.drain(context.Background(), time.Minute)).To(Succeed())
			g.Expect(b.pair.see()[2:]).To(Equal([]string{"membership.1 drains", "membership.1 ends", "renewer.1 ends"}))
			g.Expect(b.running.Failed()).NotTo(Receive())
		})
	})

	It("cancels the polls that are left after the grace", func() {
		run(func(g Gomega, b *bench) {
			b.pair.drains = false
			began := time.Now()
			g.Expect(b.drain(context.Background(), 20*time.Second)).To(Succeed())
			g.Expect(time.Since(began)).To(Equal(20 * time.Second))
			g.Expect(b.pair.see()).To(ContainElements("membership.1 aborts", "renewer.1 ends"))
		})
	})

	It("ends with its context", func() {
		run(func(g Gomega, b *bench) {
			b.pair.drains = false
			ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
			defer cancel()
			g.Expect(b.drain(ctx, time.Minute)).To(MatchError(context.DeadlineExceeded))
		})
	})

	It("is incomplete when either of the pair fails meanwhile, and makes no new one", func() {
		for _, who := range []string{"membership.1", "renewer.1"} {
			run(func(g Gomega, b *bench) {
				b.pair.drains = false
				result := make(chan error, 1)
				go func() { result <- b.running.Drain(context.Background(), time.Minute) }()
				bubble.Sleep(time.Second)
				b.crash(who)
				g.Expect(result).To(Receive(MatchError(supervisor.ErrIncomplete)))
				bubble.Sleep(time.Minute)
				g.Expect(b.pair.pid("membership.2")).To(BeNil())
			})
		}
	})

	It("is incomplete between two pairs, since the failed one gave nothing back", func() {
		run(func(g Gomega, b *bench) {
			b.crash("membership.1")
			g.Expect(b.drain(context.Background(), time.Minute)).To(MatchError(supervisor.ErrIncomplete))
			bubble.Sleep(time.Minute)
			g.Expect(b.pair.pid("membership.2")).To(BeNil())
		})
	})

	It("is incomplete while a failed pair is ending", func() {
		run(func(g Gomega, b *bench) {
			b.pair.hold = 3 * time.Second
			b.crash("renewer.1")
			err := b.drain(context.Background(), time.Minute)
			g.Expect(errors.Is(err, supervisor.ErrIncomplete)).To(BeTrue())
			g.Expect(b.pair.see()).To(ContainElement("membership.1 ends"))
		})
	})
})
