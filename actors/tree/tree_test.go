package tree_test

import (
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"leasehold/actors/tree"
	"leasehold/internal/actortest"
	"leasehold/internal/bubble"
)

// act is an actor that does what a spec says.
type act func(c actor.Context)

func (a act) Receive(c actor.Context) { a(c) }

type fail struct{}

// props counts the actors made, and makes ones that do what f says.
func props(s *actortest.System, made *atomic.Int32, f func(c actor.Context)) *actor.Props {
	return tree.Props(func() actor.Actor {
		made.Add(1)
		return act(f)
	}, s.Report)
}

var _ = Describe("an actor of the tree", func() {
	It("is stopped when it fails, never restarted, and its parent hears of it", func() {
		bubble.Run(func(g Gomega) {
			s := actortest.NewSystem()
			defer s.Close()
			var made, handled atomic.Int32
			parent := s.NewProbe(nil)
			child := parent.Spawn(props(s, &made, func(c actor.Context) {
				switch c.Message().(type) {
				case *fail:
					panic("planned")
				case string:
					handled.Add(1)
				}
			}), "child")
			s.Root.Send(child, &fail{})
			s.Root.Send(child, "after the failure")
			bubble.Sleep(time.Second)

			g.Expect(parent.Kinds()).To(Equal([]string{"Terminated"}))
			g.Expect(made.Load()).To(BeEquivalentTo(1))
			g.Expect(handled.Load()).To(BeZero())
			g.Expect(s.Failures()).To(HaveLen(1))
			failure := s.Failures()[0]
			g.Expect(failure.Reason).To(Equal("planned"))
			g.Expect(failure.During).To(HaveSuffix(".fail"))
			g.Expect(failure.Actor).To(HaveSuffix("/child"))
			g.Expect(failure.Stack).To(ContainSubstring("tree_test.go"))
		})
	})

	It("is stopped when it fails at its start", func() {
		bubble.Run(func(g Gomega) {
			s := actortest.NewSystem()
			defer s.Close()
			var made atomic.Int32
			parent := s.NewProbe(nil)
			parent.Spawn(props(s, &made, func(c actor.Context) {
				if _, ok := c.Message().(*actor.Started); ok {
					panic("planned")
				}
			}), "child")
			bubble.Sleep(time.Second)
			g.Expect(parent.Kinds()).To(Equal([]string{"Terminated"}))
			g.Expect(made.Load()).To(BeEquivalentTo(1))
		})
	})

	It("stops when it fails while it is stopping, and is not resurrected", func() {
		bubble.Run(func(g Gomega) {
			for _, during := range []any{&actor.Stopping{}, &actor.Stopped{}} {
				s := actortest.NewSystem()
				var made atomic.Int32
				parent := s.NewProbe(nil)
				child := parent.Spawn(props(s, &made, func(c actor.Context) {
					if actortest.Kind(c.Message()) == actortest.Kind(during) {
						panic("planned")
					}
				}), "child")
				parent.StopChild(child)
				bubble.Sleep(time.Second)
				g.Expect(parent.Kinds()).To(Equal([]string{"Terminated"}), "%T", during)
				g.Expect(made.Load()).To(BeEquivalentTo(1), "%T", during)
				g.Expect(s.Failures()).To(HaveLen(1), "%T", during)
				s.Close()
			}
		})
	})

	It("stops when it fails over the end of a child, whether it was stopping or not", func() {
		bubble.Run(func(g Gomega) {
			for _, stopping := range []bool{true, false} {
				s := actortest.NewSystem()
				var made atomic.Int32
				var grandchild *actor.PID
				parent := s.NewProbe(nil)
				child := parent.Spawn(props(s, &made, func(c actor.Context) {
					switch c.Message().(type) {
					case *actor.Started:
						grandchild = c.Spawn(actor.PropsFromFunc(func(actor.Context) {}))
					case *actor.Terminated:
						panic("planned")
					}
				}), "child")
				bubble.Sleep(0)
				if stopping {
					parent.StopChild(child)
				} else {
					s.Root.Stop(grandchild)
				}
				bubble.Sleep(time.Second)
				g.Expect(parent.Kinds()).To(Equal([]string{"Terminated"}), "stopping: %t", stopping)
				g.Expect(made.Load()).To(BeEquivalentTo(1))
				g.Expect(s.Failures()).To(HaveLen(1))
				s.Close()
			}
		})
	})

	It("takes its children along, each stopped before it", func() {
		bubble.Run(func(g Gomega) {
			s := actortest.NewSystem()
			defer s.Close()
			var made, stopped atomic.Int32
			parent := s.NewProbe(nil)
			child := parent.Spawn(props(s, &made, func(c actor.Context) {
				switch c.Message().(type) {
				case *actor.Started:
					c.Spawn(props(s, &made, func(c actor.Context) {
						if _, ok := c.Message().(*actor.Stopped); ok {
							stopped.Add(1)
						}
					}))
				case *actor.Stopped:
					if stopped.Load() == 1 {
						stopped.Add(1)
					}
				case *fail:
					panic("planned")
				}
			}), "child")
			s.Root.Send(child, &fail{})
			bubble.Sleep(time.Second)
			g.Expect(stopped.Load()).To(BeEquivalentTo(2))
			g.Expect(parent.Kinds()).To(Equal([]string{"Terminated"}))
		})
	})

	It("stops without a parent too, and needs no report", func() {
		bubble.Run(func(g Gomega) {
			s := actortest.NewSystem()
			defer s.Close()
			var made, stopped atomic.Int32
			pid := s.Root.Spawn(tree.AsRoot(tree.Props(func() actor.Actor {
				made.Add(1)
				return act(func(c actor.Context) {
					switch c.Message().(type) {
					case *fail:
						panic("planned")
					case *actor.Stopped:
						stopped.Add(1)
					}
				})
			}, nil)))
			s.Root.Send(pid, &fail{})
			bubble.Sleep(time.Second)
			g.Expect(made.Load()).To(BeEquivalentTo(1))
			g.Expect(stopped.Load()).To(BeEquivalentTo(1))
		})
	})
})

var _ = Describe("a mailbox", func() {
	It("delivers after the time named, unless the timer was stopped", func() {
		bubble.Run(func(g Gomega) {
			s := actortest.NewSystem()
			defer s.Close()
			probe := s.NewProbe(nil)
			mailbox := probe.Mailbox()
			mailbox.Send("now")
			mailbox.After(time.Second, "later")
			mailbox.After(time.Second, "never").Stop()
			bubble.Sleep(time.Second - 1)
			g.Expect(probe.Got()).To(Equal([]any{"now"}))
			bubble.Sleep(time.Hour)
			g.Expect(probe.Got()).To(Equal([]any{"now", "later"}))
		})
	})

	It("of an actor that has gone swallows what is sent", func() {
		bubble.Run(func(g Gomega) {
			s := actortest.NewSystem()
			defer s.Close()
			probe := s.NewProbe(nil)
			mailbox := probe.Mailbox()
			probe.Stop()
			bubble.Sleep(0)
			mailbox.Send("too late")
			bubble.Sleep(0)
			g.Expect(probe.Got()).To(BeEmpty())
		})
	})
})

var _ = Describe("work beside an actor", func() {
	It("does not hold the actor up, and its answer comes as a message", func() {
		bubble.Run(func(g Gomega) {
			s := actortest.NewSystem()
			defer s.Close()
			probe := s.NewProbe(nil)
			probe.Do(func(c actor.Context) {
				tree.Async(c, func() any {
					time.Sleep(time.Minute)
					return "answer"
				})
			})
			probe.Send("meanwhile")
			bubble.Sleep(time.Minute)
			g.Expect(probe.Got()).To(Equal([]any{"meanwhile", "answer"}))
		})
	})
})
