package tree

import (
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"
	"unsafe"

	"github.com/asynkron/protoactor-go/actor"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"leasehold/internal/bubble"
)

// invoker records what a mailbox hands it. A message "fail" is a failure, and a function
// is called.
type invoker struct {
	mu     sync.Mutex
	got    []any
	busy   int
	most   int // handled at once
	failed []any
}

func (i *invoker) InvokeSystemMessage(m any) { i.InvokeUserMessage(m) }

func (i *invoker) InvokeUserMessage(m any) {
	i.mu.Lock()
	i.got = append(i.got, m)
	i.busy++
	i.most = max(i.most, i.busy)
	i.mu.Unlock()
	defer func() {
		i.mu.Lock()
		i.busy--
		i.mu.Unlock()
	}()
	switch m := m.(type) {
	case func():
		m()
	case string:
		if m == "fail" {
			panic("planned")
		}
	}
}

func (i *invoker) EscalateFailure(reason, message any) {
	i.failed = append(i.failed, reason, message)
}

// open returns a mailbox whose actor is ready.
func open() (*mailbox, *invoker) {
	m, i := newMailbox().(*mailbox), &invoker{}
	m.RegisterHandlers(i, nil)
	m.Start()
	return m, i
}

var _ = Describe("a mailbox of the tree", func() {
	It("hands on what was sent, each sender's in order, one at a time, and loses none", func() {
		bubble.Run(func(g Gomega) {
			const senders, each = 8, 1000
			m, i := open()
			type from struct{ sender, number int }
			for s := range senders {
				go func() {
					for n := range each {
						m.PostUserMessage(from{sender: s, number: n})
					}
				}()
			}
			bubble.Sleep(0)
			g.Expect(i.got).To(HaveLen(senders * each))
			g.Expect(i.most).To(Equal(1))
			next := make([]int, senders)
			for _, m := range i.got {
				f := m.(from)
				g.Expect(f.number).To(Equal(next[f.sender]), "of sender %d", f.sender)
				next[f.sender]++
			}
		})
	})

	It("hands on the library's own messages first", func() {
		bubble.Run(func(g Gomega) {
			m, i := open()
			m.PostUserMessage(func() { time.Sleep(time.Second) })
			bubble.Sleep(0)
			m.PostUserMessage("a")
			m.PostUserMessage("b")
			m.PostSystemMessage("first")
			m.PostSystemMessage("second")
			g.Expect(m.UserMessageCount()).To(Equal(2))
			bubble.Sleep(time.Minute)
			g.Expect(i.got[1:]).To(Equal([]any{"first", "second", "a", "b"}))
			g.Expect(m.UserMessageCount()).To(BeZero())
		})
	})

	It("escalates a failure with its message, and goes on", func() {
		bubble.Run(func(g Gomega) {
			m, i := open()
			for _, message := range []string{"a", "fail", "b"} {
				m.PostUserMessage(message)
			}
			bubble.Sleep(0)
			g.Expect(i.failed).To(Equal([]any{"planned", "fail"}))
			g.Expect(i.got).To(Equal([]any{"a", "fail", "b"}))
		})
	})

	It("keeps what was sent while it is suspended, but for the library's own", func() {
		bubble.Run(func(g Gomega) {
			m, i := open()
			m.PostSystemMessage(&actor.SuspendMailbox{})
			m.PostUserMessage("kept")
			m.PostSystemMessage("system")
			bubble.Sleep(time.Hour)
			g.Expect(i.got).To(Equal([]any{"system"}))
			m.PostSystemMessage(&actor.ResumeMailbox{})
			bubble.Sleep(0)
			g.Expect(i.got).To(Equal([]any{"system", "kept"}))
		})
	})

	It("keeps what was sent to its name before the actor was ready", func() {
		bubble.Run(func(g Gomega) {
			m, i := newMailbox(), &invoker{}
			m.PostUserMessage("early")
			bubble.Sleep(time.Hour)
			m.RegisterHandlers(i, nil)
			m.PostSystemMessage("started")
			bubble.Sleep(0)
			g.Expect(i.got).To(Equal([]any{"started", "early"}))
		})
	})

	It("needs little memory, and keeps none after a rush", func() {
		bubble.Run(func(g Gomega) {
			m, _ := open()
			g.Expect(int(unsafe.Sizeof(*m))).To(BeNumerically("<=", 112))
			for range 10_000 {
				m.PostUserMessage("x")
			}
			bubble.Sleep(0)
			g.Expect(m.user).To(Equal(line{}))
		})
	})
})

var _ = Describe("actors of one kind", func() {
	It("are each what its props were made for, also when many parents make them at once", func() {
		bubble.Run(func(g Gomega) {
			const parents, children = 20, 20
			system := actor.NewActorSystem(actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger {
				return slog.New(slog.DiscardHandler)
			}))
			kind := NewKind(nil)
			var mu sync.Mutex
			var started []string
			for p := range parents {
				system.Root.Spawn(Props(func() actor.Actor {
					return actor.ReceiveFunc(func(c actor.Context) {
						if _, ok := c.Message().(*actor.Started); !ok {
							return
						}
						for n := range children {
							name := fmt.Sprintf("%d-%d", p, n)
							_, err := c.SpawnNamed(kind.Props(actor.ReceiveFunc(func(c actor.Context) {
								if _, ok := c.Message().(*actor.Started); ok {
									mu.Lock()
									defer mu.Unlock()
									started = append(started, name+" "+c.Self().Id[len(c.Parent().Id)+1:])
								}
							})), name)
							g.Expect(err).NotTo(HaveOccurred())
						}
					})
				}, nil))
			}
			bubble.Sleep(0)
			g.Expect(started).To(HaveLen(parents * children))
			slices.Sort(started)
			g.Expect(slices.Compact(started)).To(HaveLen(parents * children))
			for _, s := range started {
				var name, id string
				_, err := fmt.Sscan(s, &name, &id)
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(id).To(Equal(name))
			}
			system.Shutdown()
			bubble.Settle()
		})
	})
})
