package gate_test

import (
	"math/rand/v2"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"leasehold/gate"
	"leasehold/internal/bubble"
)

var _ = Describe("a gate", func() {
	// enter notes the name of who has a place.
	enter := func(g *gate.Gate, names *[]string, name string) *gate.Place {
		p, in := g.Enter(func() { *names = append(*names, name) })
		if in {
			*names = append(*names, name)
		}
		return p
	}

	It("lets in as many as it has places, and the next one in line for each who leaves", func() {
		g, in := gate.New(2), []string{}
		a, b := enter(g, &in, "a"), enter(g, &in, "b")
		c := enter(g, &in, "c")
		enter(g, &in, "d")
		Expect(in).To(Equal([]string{"a", "b"}))
		b.Leave()
		Expect(in).To(Equal([]string{"a", "b", "c"}))
		c.Leave()
		c.Leave()
		Expect(in).To(Equal([]string{"a", "b", "c", "d"}), "who leaves twice gives one place up")
		a.Leave()
		e, f := enter(g, &in, "e"), enter(g, &in, "f")
		Expect(in).To(Equal([]string{"a", "b", "c", "d", "e"}))
		f.Leave()
		e.Leave()
		Expect(in).To(HaveLen(5), "who waits no longer is not called")
	})

	It("keeps the line when somebody leaves it, wherever he stands", func() {
		for leaver := range 3 {
			g, in := gate.New(1), []string{}
			first := enter(g, &in, "first")
			line := []*gate.Place{enter(g, &in, "0"), enter(g, &in, "1"), enter(g, &in, "2")}
			line[leaver].Leave()
			first.Leave()
			for i, p := range line {
				if i != leaver {
					p.Leave()
				}
			}
			want := [][]string{{"first", "1", "2"}, {"first", "0", "2"}, {"first", "0", "1"}}[leaver]
			Expect(in).To(Equal(want))
			enter(g, &in, "last")
			Expect(in).To(HaveLen(4), "all places are free again")
		}
	})

	It("tells that a place was given up, once, also by who only waited", func() {
		g, left := gate.New(1), 0
		a, in := g.EnterAs(nil, func() { left++ })
		Expect(in).To(BeTrue())
		b, in := g.EnterAs(func() {}, func() { left += 10 })
		Expect(in).To(BeFalse())
		b.Leave()
		a.Leave()
		a.Leave()
		Expect(left).To(Equal(11))
	})

	It("never lets in more than it has places, and forgets nobody", func() {
		bubble.Run(func(g Gomega) {
			const places, users = 3, 200
			line := gate.New(places)
			var inside, most, served atomic.Int64
			for range users {
				go func() {
					time.Sleep(rand.N(10 * time.Millisecond))
					turn := make(chan struct{})
					p, in := line.Enter(func() { close(turn) })
					if !in {
						select {
						case <-turn:
						case <-time.After(rand.N(500 * time.Millisecond)):
							p.Leave()
							return
						}
					}
					if n := inside.Add(1); n > most.Load() {
						most.Store(n)
					}
					served.Add(1)
					time.Sleep(rand.N(10 * time.Millisecond))
					inside.Add(-1)
					p.Leave()
				}()
			}
			bubble.Sleep(time.Minute)
			g.Expect(most.Load()).To(BeNumerically("<=", places))
			g.Expect(served.Load()).To(BeNumerically(">", places))
			for range places {
				_, in := line.Enter(nil)
				g.Expect(in).To(BeTrue())
			}
			_, in := line.Enter(nil)
			g.Expect(in).To(BeFalse())
		})
	})
})
