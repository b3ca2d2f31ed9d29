package poller_test

import (
	"fmt"
	"runtime"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"leasehold/actors/poller"
	"leasehold/gate"
	"leasehold/internal/bubble"
)

var _ = Describe("a poller that waits for its turn", func() {
	It("does not start a poll that still waits for its turn", func() {
		run(func(g Gomega, b *bench) {
			b.deps.Gate = gate.New(1)
			leave := occupy(b.deps.Gate, 1)
			b.start(doc(), 0)
			bubble.Sleep(time.Second)
			b.tell(&poller.Stop{})
			g.Expect(b.terminated()).To(BeTrue())
			leave()
			bubble.Sleep(time.Minute)
			g.Expect(b.stub.see().begins).To(BeEmpty())
			occupy(b.deps.Gate, 1) // it left no place taken
		})
	})

	It("does not start a poll whose turn came as it was stopped, and gives its place back", func() {
		run(func(g Gomega, b *bench) {
			for _, stop := range []func(){
				func() { b.system.Root.Send(b.pid, &poller.Stop{Abort: true}) },
				func() { b.parent.StopChild(b.pid) },
			} {
				b.deps.Gate = gate.New(1)
				leave := occupy(b.deps.Gate, 1)
				b.parent = b.system.NewProbe(nil)
				b.start(doc(), 0)
				bubble.Sleep(time.Second)
				stop()
				leave() // the turn is behind the stop in the mailbox, or before it
				bubble.Sleep(time.Minute)
				g.Expect(b.terminated()).To(BeTrue())
				g.Expect(b.stub.see().begins).To(HaveLen(len(b.stub.see().results)), "a poll that began has ended")
				occupy(b.deps.Gate, 1)
			}
		})
	})

	It("does not take a turn that it gave up for one that it waits for", func() {
		run(func(g Gomega, b *bench) {
			full := &keptGate{Gate: gate.New(0)}
			b.deps.Gate = full
			b.start(doc(), 0)
			moved := doc()
			moved.URL = "http://192.0.2.2/"
			b.tell(&poller.Update{Session: moved})
			g.Expect(full.turns).To(HaveLen(2))
			full.turns[0]() // was on its way
			bubble.Sleep(time.Second)
			g.Expect(b.stub.see().begins).To(BeEmpty())
			full.turns[1]()
			bubble.Sleep(time.Second)
			g.Expect(b.stub.see().begins).To(HaveLen(1))
		})
	})

	// Documents may be written again more often than a turn comes.
	It("keeps its turn whatever is edited but the address, and polls by the new document", func() {
		run(func(g Gomega, b *bench) {
			full := &keptGate{Gate: gate.New(0)}
			b.deps.Gate = full
			b.start(doc(), 0)
			edited := doc()
			edited.Timeout, edited.Interval = time.Second, time.Minute
			b.tell(&poller.Update{Session: edited})
			g.Expect(full.turns).To(HaveLen(1))
			full.turns[0]()
			bubble.Sleep(time.Second)
			g.Expect(b.stub.see().jobs).To(HaveLen(1))
			g.Expect(b.stub.see().jobs[0].Session.Timeout).To(Equal(time.Second))
			g.Expect(b.stub.see().slots[0].Interval).To(Equal(time.Minute))
		})
	})

	It("needs no goroutine while it waits for its turn", func() {
		run(func(g Gomega, b *bench) {
			leave := occupy(b.deps.Gate, 10)
			before := runtime.NumGoroutine()
			maker := poller.Maker(b.deps)
			for i := range 100 {
				b.parent.Spawn(maker(poller.Config{Cell: b.cell, Session: doc()}), fmt.Sprint("poller", i))
			}
			bubble.Sleep(time.Second)
			g.Expect(runtime.NumGoroutine()).To(BeNumerically("<", before+50))
			leave()
			bubble.Sleep(time.Second)
			g.Expect(b.stub.see().polls).To(HaveLen(100))
		})
	})
})

var _ = Describe("many pollers", func() {
	It("have no more polls in flight than the gate admits", func() {
		run(func(g Gomega, b *bench) {
			b.deps.Gate = gate.New(3)
			b.stub.poll = takes(time.Second)
			for i := range 9 {
				b.parent.Spawn(poller.Maker(b.deps)(poller.Config{Cell: b.cell, Session: doc()}), fmt.Sprint("poller", i))
			}
			bubble.Sleep(2*time.Second + time.Millisecond)
			g.Expect(b.stub.see().together).To(Equal(3))
			g.Expect(b.stub.see().polls).To(HaveLen(9))
		})
	})
})
