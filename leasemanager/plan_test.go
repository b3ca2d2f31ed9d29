package leasemanager_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"leasehold/internal/bubble"
	"leasehold/lease"
	"leasehold/leasemanager"
	"leasehold/rediskey"
)

// works counts the polls of a fleet, and finds those that overlap.
type works struct {
	mu       sync.Mutex
	runs     []leasemanager.Run
	inFlight map[string]int
	overlaps []string
	act      func(ctx context.Context, r leasemanager.Run) error // nil: succeed at once
}

func (w *works) poll(ctx context.Context, r leasemanager.Run) error {
	w.mu.Lock()
	w.runs = append(w.runs, r)
	if w.inFlight == nil {
		w.inFlight = map[string]int{}
	}
	w.inFlight[r.SessionID]++
	if w.inFlight[r.SessionID] > 1 {
		w.overlaps = append(w.overlaps, r.SessionID)
	}
	act := w.act
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.inFlight[r.SessionID]--
	}()
	if act == nil {
		return nil
	}
	return act(ctx, r)
}

func (w *works) all() []leasemanager.Run {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]leasemanager.Run(nil), w.runs...)
}

func (w *works) set(act func(ctx context.Context, r leasemanager.Run) error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.act = act
}

var _ = Describe("members that poll by plan", func() {
	ctx := context.Background()

	It("share the documents, poll each at its rhythm, and tell of what they own", func() {
		run(func(g Gomega, f *fleet) {
			w := &works{}
			f.PutMany(6, 10*time.Second)
			a, b := f.start(leasemanager.WithPoller(w.poll)), f.start(leasemanager.WithPoller(w.poll))
			bubble.Sleep(time.Minute)
			g.Expect(f.Loads()).To(Equal(map[string]int{a.InstanceID(): 3, b.InstanceID(): 3}))
			g.Expect(a.OwnedSessions()).To(HaveLen(3))
			for _, id := range a.OwnedSessions() {
				a.take(id) // is a's already
				b.refused(id)
				g.Expect(a.Release(ctx, id)).To(MatchError(leasemanager.ErrPolled))
				token, ok := a.Token(id)
				g.Expect(ok).To(BeTrue())
				var last leasemanager.Run
				n := 0
				for _, r := range w.all() {
					if r.SessionID == id {
						last, n = r, n+1
					}
				}
				g.Expect(n).To(BeNumerically("~", 6, 1))
				g.Expect(last.InstanceID).To(Equal(a.InstanceID()))
				g.Expect(last.Token).To(Equal(token))
				g.Expect(last.Session.URL).To(Equal("http://192.0.2.1/"))
			}
			g.Expect(w.overlaps).To(BeEmpty())
		})
	})

	It("know who should have a session by the plan, and who else would take it", func() {
		run(func(g Gomega, f *fleet) {
			w := &works{}
			f.PutMany(20, 10*time.Second)
			members := []*member{f.start(leasemanager.WithPoller(w.poll)), f.start(leasemanager.WithPoller(w.poll))}
			bubble.Sleep(time.Minute)
			g.Expect(f.Owners()).To(HaveLen(20))
			for id, owner := range f.Owners() {
				for _, m := range members {
					g.Expect(m.PreferredOwner(ctx, id)).To(Equal(owner))
				}
			}
			first, err := members[0].PreferredOwner(ctx, "unknown")
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(members[1].PreferredOwner(ctx, "unknown")).To(Equal(first))
			g.Expect(first).To(BeElementOf(members[0].InstanceID(), members[1].InstanceID()))

			g.Expect(members[1].Stop()).To(Succeed())
			bubble.Sleep(5 * time.Second)
			for id := range f.Owners() {
				g.Expect(members[0].PreferredOwner(ctx, id)).To(Equal(members[0].InstanceID()))
			}
			_, err = members[1].PreferredOwner(ctx, "s0")
			g.Expect(err).To(MatchError(leasemanager.ErrStopped))
		})
	})

	It("share with the program's own nodes", func() {
		run(func(g Gomega, f *fleet) {
			w := &works{}
			f.PutMany(6, 10*time.Second)
			a, n := f.start(leasemanager.WithPoller(w.poll)), f.Start()
			bubble.Sleep(time.Minute)
			g.Expect(f.Loads()).To(Equal(map[string]int{a.InstanceID(): 3, n.Name: 3}))
			g.Expect(a.GetLiveNodes(ctx)).To(ConsistOf(a.InstanceID(), n.Name))
			g.Expect(a.Stop()).To(Succeed())
			bubble.Sleep(time.Second)
			g.Expect(f.Loads()).To(Equal(map[string]int{n.Name: 6}))
		})
	})

	It("record what came of a poll: an error, a timeout, a panic, an end of its goroutine", func() {
		run(func(g Gomega, f *fleet) {
			w := &works{}
			w.set(func(ctx context.Context, r leasemanager.Run) error {
				switch r.SessionID {
				case "bad":
					return errors.New("no good")
				case "slow":
					<-ctx.Done()
					return ctx.Err()
				case "mad":
					panic("planned")
				case "gone":
					runtime.Goexit()
				}
				return nil
			})
			for _, id := range []string{"good", "bad", "slow", "mad", "gone"} {
				f.Put(id, `{"kind":"log","interval":"1h","timeout":"2s"}`)
			}
			f.start(leasemanager.WithPoller(w.poll))
			bubble.Sleep(4500 * time.Millisecond)
			classes := map[string]any{}
			for _, id := range []string{"good", "bad", "slow", "mad", "gone"} {
				classes[id] = f.Client.HGet(ctx, "poll:state:{poll:lease:"+id+"}"+id, "class").Val()
			}
			g.Expect(classes).To(Equal(map[string]any{"good": "success", "bad": "error", "slow": "timeout", "mad": "panic", "gone": "error"}))
		})
	})

	It("let a poll end when they stop, then tell, then give the lease back", func() {
		run(func(g Gomega, f *fleet) {
			w := &works{}
			f.Put("s", `{"kind":"log","interval":"10s","timeout":"1m"}`)
			ended := make(chan time.Time, 1)
			w.set(func(ctx context.Context, _ leasemanager.Run) error {
				select {
				case <-time.After(8 * time.Second):
				case <-ctx.Done():
				}
				ended <- time.Now()
				return ctx.Err()
			})
			a := f.start(leasemanager.WithPoller(w.poll))
			bubble.Sleep(5 * time.Second)
			g.Expect(w.all()).To(HaveLen(1))
			lease := a.Context("s")
			var told time.Time
			var holder string
			a.atEnd(func(string) {
				told = time.Now()
				time.Sleep(time.Second)
				holder = f.Client.Get(ctx, "poll:lease:s").Val()
			})
			stopped := after(a.Stop)
			bubble.Sleep(0)
			g.Expect(a.IsOwned("s")).To(BeFalse())
			g.Expect(context.Cause(lease)).To(MatchError(leasemanager.ErrReleased))
			g.Expect(<-stopped).To(Succeed())
			g.Expect(told).To(BeTemporally("~", <-ended, 100*time.Millisecond))
			g.Expect(holder).To(Equal(a.InstanceID()), "not before the callback returned")
			g.Expect(f.Owners()).To(BeEmpty())
			g.Expect(a.told()).To(Equal([]string{"acquired s", "lost s"}))
		})
	})

	It("tell when Redis hangs, and cancel the poll at the end of trust", func() {
		run(func(g Gomega, f *fleet) {
			w := &works{}
			f.Put("s", `{"kind":"log","interval":"10s","timeout":"5m"}`)
			var canceled error
			w.set(func(ctx context.Context, _ leasemanager.Run) error {
				<-ctx.Done()
				canceled = context.Cause(ctx)
				return canceled
			})
			a := f.start(leasemanager.WithPoller(w.poll))
			bubble.Sleep(5 * time.Second)
			a.link.Freeze()
			bubble.Sleep(ttl)
			g.Expect(canceled).To(MatchError(leasemanager.ErrExpired))
			g.Expect(a.told()).To(Equal([]string{"acquired s", "uncertain s", "lost s"}))
		})
	})

	It("lease by hand, too, and neither takes the other's for its own", func() {
		run(func(g Gomega, f *fleet) {
			w := &works{}
			a := f.start(leasemanager.WithPoller(w.poll))
			a.take("s")
			bubble.Sleep(time.Millisecond) // only what is told of one session has an order
			a.take("work")
			g.Expect(f.Owners()).To(HaveKeyWithValue("s", a.InstanceID()+"/manual"))
			f.Put("s", `{"kind":"log","interval":"1s"}`)
			bubble.Sleep(2 * ttl)
			g.Expect(w.all()).To(BeEmpty(), "it is held by hand")
			g.Expect(a.OwnedSessions()).To(Equal([]string{"s", "work"}))
			byHand, _ := a.Token("s")

			var ending leasemanager.LeaseInfo
			var err error
			a.atEnd(func(id string) { ending, err = a.Lease(ctx, id) })
			g.Expect(a.Release(ctx, "s")).To(Succeed())
			a.atEnd(nil)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(ending).To(Equal(leasemanager.LeaseInfo{SessionID: "s", Token: byHand}), "it is not another's")
			bubble.Sleep(2 * time.Second)
			g.Expect(w.all()).NotTo(BeEmpty())
			byPlan, _ := a.Token("s")
			g.Expect(byPlan).To(Equal(byHand + 1))
			g.Expect(f.Owners()).To(HaveKeyWithValue("s", a.InstanceID()))
			g.Expect(a.told()).To(Equal([]string{"acquired s", "acquired work", "lost s", "acquired s"}))

			f.Remove("s")
			bubble.Sleep(2 * time.Second)
			a.take("s")
			g.Expect(f.Owners()).To(HaveKeyWithValue("s", a.InstanceID()+"/manual"))
			g.Expect(a.Stop()).To(Succeed())
			g.Expect(f.Owners()).To(BeEmpty())
		})
	})

	It("tell of a session in order, though the plan takes it while its loss by hand is being told", func() {
		run(func(g Gomega, f *fleet) {
			w := &works{}
			a := f.start(leasemanager.WithPoller(w.poll))
			bubble.Sleep(5 * time.Second)
			a.take("s")
			a.atEnd(func(string) { time.Sleep(5 * time.Second) })
			f.Put("s", `{"kind":"log","interval":"1s"}`)
			bubble.Sleep(time.Second)
			g.Expect(f.Client.Del(ctx, "poll:lease:s").Err()).To(Succeed())
			bubble.Sleep(2 * time.Second)
			g.Expect(f.Owners()).To(HaveKeyWithValue("s", a.InstanceID()))
			a.take("s") // is polled by now
			bubble.Sleep(5 * time.Second)
			g.Expect(a.told()).To(Equal([]string{"acquired s", "lost s", "acquired s"}))
		})
	})

	It("cancel polls that outlast most of the drain timeout, and count them as nothing", func() {
		run(func(g Gomega, f *fleet) {
			w := &works{}
			f.Put("s", `{"kind":"log","interval":"10s","timeout":"10m"}`)
			w.set(func(ctx context.Context, _ leasemanager.Run) error {
				<-ctx.Done()
				return ctx.Err()
			})
			a := f.start(leasemanager.WithPoller(w.poll))
			bubble.Sleep(5 * time.Second)
			began := time.Now()
			g.Expect(a.Stop()).To(Succeed())
			g.Expect(time.Since(began)).To(BeNumerically("~", 20*time.Second, time.Second))
			g.Expect(f.Client.HGet(ctx, "poll:state:{poll:lease:s}s", "class").Val()).To(Equal("canceled"))
			g.Expect(f.Owners()).To(BeEmpty())
		})
	})

	It("write results into a stream of their fleet, or into the one they are told to", func() {
		run(func(g Gomega, f *fleet) {
			w := &works{}
			f.PutMany(1, 10*time.Second)
			for prefix, told := range map[string]string{"a:": "", "b:": "", "c:": "told"} {
				m, err := leasemanager.New(leasemanager.Config{
					Client: f.Client, Keys: rediskey.Keys{Prefix: prefix, SessionPrefix: "session:"}, ResultStream: told,
				}, leasemanager.WithPoller(w.poll))
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(m.Start(ctx)).To(Succeed())
				defer func() { _ = m.Stop() }()
			}
			bubble.Sleep(time.Minute)
			for _, stream := range []string{"a:results", "b:results", "told"} {
				g.Expect(f.Client.XLen(ctx, stream).Val()).To(BeNumerically("~", 6, 1), stream)
			}
			g.Expect(f.Client.Exists(ctx, "poll:results", "c:results").Val()).To(BeZero())
		})
	})

	It("leave sessions alone that a service beside them holds, and take them over when it dies", func() {
		run(func(g Gomega, f *fleet) {
			w := &works{}
			f.PutMany(4, 10*time.Second)
			hand := f.start(leasemanager.WithoutHeartbeat())
			for i := range 4 {
				hand.take(fmt.Sprintf("s%d", i))
			}
			g.Expect(f.Owners()).To(HaveKeyWithValue("s0", hand.InstanceID()))
			g.Expect(lease.InstanceForm(hand.InstanceID())).To(BeFalse(), "a node without a heartbeat would count as dead")
			plan := f.start(leasemanager.WithPoller(w.poll))
			bubble.Sleep(2 * ttl)
			g.Expect(w.all()).To(BeEmpty())
			g.Expect(plan.GetLiveNodes(ctx)).To(Equal([]string{plan.InstanceID()}))
			cut := time.Now()
			hand.link.Freeze()
			ends := hand.Context("s0")
			for len(w.all()) == 0 && time.Since(cut) < 2*ttl {
				bubble.Sleep(100 * time.Millisecond)
			}
			g.Expect(ends.Err()).To(HaveOccurred(), "before another polls")
			bubble.Sleep(time.Second)
			g.Expect(f.Loads()).To(Equal(map[string]int{plan.InstanceID(): 4}))
		})
	})
})
