package node_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"leasehold/internal/bubble"
	"leasehold/internal/nodetest"
)

var _ = Describe("session documents", func() {
	It("polls a new one within 250 ms, and stops at once when it goes", func() {
		bubble.Run(func(g Gomega) {
			f := nodetest.New(g)
			defer f.Stop()
			f.Start()
			f.Start()
			bubble.Sleep(20 * time.Second)
			at := time.Now()
			f.Put("new", `{"url":"http://192.0.2.1/","interval":1}`)
			bubble.Sleep(250 * time.Millisecond)
			g.Expect(f.Target.Since(at)).To(HaveKey("new"))
			bubble.Sleep(10 * time.Second)
			f.Remove("new")
			gone := time.Now()
			bubble.Sleep(time.Second)
			g.Expect(f.Owners()).To(BeEmpty())
			bubble.Sleep(10 * time.Second)
			for _, p := range f.Target.Since(gone)["new"] {
				g.Expect(p.Start).To(BeTemporally("<", gone.Add(100*time.Millisecond)))
			}
			g.Expect(f.Mini.Keys()).NotTo(ContainElement(ContainSubstring("poll:state:")))
		})
	})

	It("takes a changed interval without losing the owner or the token", func() {
		bubble.Run(func(g Gomega) {
			f := nodetest.New(g)
			defer f.Stop()
			f.Put("s", `{"url":"http://192.0.2.1/","interval":30}`)
			f.Start()
			f.Start()
			bubble.Sleep(20 * time.Second)
			owners, tokens := f.Owners(), f.Tokens()
			f.Put("s", `{"url":"http://192.0.2.1/","interval":2}`)
			bubble.Sleep(time.Second)
			at := time.Now()
			bubble.Sleep(20 * time.Second)
			g.Expect(len(f.Target.Since(at)["s"])).To(BeNumerically("~", 10, 1))
			f.Put("s", `{"url":"http://192.0.2.1/","interval":30}`)
			at = time.Now()
			bubble.Sleep(25 * time.Second)
			g.Expect(len(f.Target.Since(at)["s"])).To(BeNumerically("<=", 1))
			g.Expect(f.Owners()).To(Equal(owners))
			g.Expect(f.Tokens()).To(Equal(tokens))
		})
	})

	It("releases a paused one, and polls it again when it is resumed", func() {
		bubble.Run(func(g Gomega) {
			f := nodetest.New(g)
			defer f.Stop()
			f.Put("s", `{"url":"http://192.0.2.1/","interval":1}`)
			f.Start()
			bubble.Sleep(20 * time.Second)
			f.Put("s", `{"url":"http://192.0.2.1/","interval":1,"paused":true}`)
			bubble.Sleep(time.Second)
			g.Expect(f.Owners()).To(BeEmpty())
			at := time.Now()
			bubble.Sleep(30 * time.Second)
			g.Expect(f.Target.Since(at)).To(BeEmpty())
			f.Put("s", `{"url":"http://192.0.2.1/","interval":1}`)
			bubble.Sleep(2 * time.Second)
			g.Expect(f.Target.Since(at)).NotTo(BeEmpty())
		})
	})

	It("skips one that can't be used with one warning, and takes it when corrected", func() {
		bubble.Run(func(g Gomega) {
			f := nodetest.New(g)
			defer f.Stop()
			f.PutMany(3, time.Second)
			f.Put("bad", `{bad`)
			a := f.Start()
			bubble.Sleep(3 * time.Minute)
			g.Expect(a.Log.Events("session.invalid")).To(HaveLen(1))
			g.Expect(a.Log.Events("session.invalid")[0]).To(ContainSubstring(`"session:bad"`))
			g.Expect(f.Owners()).To(HaveLen(3))
			f.Put("bad", `{"url":"http://192.0.2.1/","interval":1}`)
			bubble.Sleep(2 * time.Second)
			g.Expect(f.Owners()).To(HaveLen(4))
		})
	})

	It("retries a failing one after 1, 2, 4 and 8 s, also on another node", func() {
		bubble.Run(func(g Gomega) {
			f := nodetest.New(g)
			defer f.Stop()
			f.Put("s", `{"url":"http://192.0.2.1/","interval":30,"on_failure":"release"}`)
			f.Target.Set("s", nodetest.Behavior{Fail: true})
			f.Start()
			f.Start()
			bubble.Sleep(40 * time.Second)
			polls := f.Target.Polls("s")
			g.Expect(len(polls)).To(BeNumerically(">=", 5))
			instances := map[string]bool{}
			for i, want := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second} {
				gap := polls[i+1].Start.Sub(polls[i].End)
				g.Expect(gap).To(BeNumerically("~", want, 100*time.Millisecond))
				instances[polls[i].Instance] = true
			}
			g.Expect(instances).To(HaveLen(2))
		})
	})
})

var _ = Describe("many documents at once", func() {
	It("are leased once each, and leave nothing behind when they go", func() {
		bubble.Run(func(g Gomega) {
			f := nodetest.New(g)
			defer f.Stop()
			for range 3 {
				f.Start()
			}
			bubble.Sleep(20 * time.Second)
			f.PutMany(1000, 10*time.Second)
			bubble.Sleep(30 * time.Second)
			balanced(g, f, 1000, 3)
			acquired := 0
			for _, m := range f.Members() {
				for _, line := range m.Log.Events("lease.acquired") {
					if strings.Contains(line, "endpoint_id") { // the others are summaries
						acquired++
					}
				}
			}
			// The first few are claimed at once, before they are known to be many.
			g.Expect(acquired).To(BeNumerically("~", 1010, 10), "no more than two in a hundred moved")
			for i := range 1000 {
				f.Remove(fmt.Sprintf("s%d", i))
			}
			bubble.Sleep(2 * time.Second)
			g.Expect(f.Mini.Keys()).NotTo(ContainElement(HavePrefix("poll:state:")))
			g.Expect(f.Owners()).To(BeEmpty())
			g.Expect(f.Target.Overlaps()).To(BeEmpty())
		})
	})
})

var _ = Describe("documents that are deleted and written again at once", func() {
	It("are polled soon, by whoever has them", func() {
		bubble.Run(func(g Gomega) {
			f := nodetest.New(g)
			defer f.Stop()
			f.PutMany(30, 2*time.Second)
			rnd := rand.New(rand.NewPCG(1, 2))
			for seed := range uint64(3) {
				m := f.Start()
				m.Link.Delay(time.Duration(1+rnd.IntN(20))*time.Millisecond, 3*time.Millisecond, rand.New(rand.NewPCG(seed, 3)))
			}
			bubble.Sleep(time.Minute)
			for range 20 {
				for i := range 30 {
					f.Remove(fmt.Sprintf("s%d", i))
				}
				bubble.Sleep(time.Duration(rnd.IntN(40)) * time.Millisecond)
				f.PutMany(30, 2*time.Second)
				bubble.Sleep(5 * time.Second)
				at := time.Now()
				bubble.Sleep(5 * time.Second)
				g.Expect(f.Target.Since(at)).To(HaveLen(30))
			}
			g.Expect(f.Target.Overlaps()).To(BeEmpty())
		})
	})
})
