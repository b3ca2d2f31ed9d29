package membership_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"leasehold/actors/leaseholder"
	"leasehold/actors/membership"
	"leasehold/actors/renewer"
	"leasehold/actors/tree"
	"leasehold/internal/actortest"
	"leasehold/internal/bubble"
	"leasehold/lease"
	"leasehold/redisevents"
	"leasehold/rediskey"
	"leasehold/session"
)

const self = "me-1-00000001"

var errRedis = errors.New("no answer from Redis")

// redis is everything that membership asks, in memory.
type redis struct {
	mu     sync.Mutex
	docs   map[string]string
	leases map[string]string
	tokens map[string]lease.Token
	events []redisevents.Event
	down   bool
	mute   bool   // no claim is answered
	hung   string // the first letter of sessions and peers that are on a server which hangs
	// readable has the documents of those sessions on another.
	readable bool
	delay    time.Duration // of a claim
	peers    []string
	deaf     bool
	scans    int
	lists    int
	checks   int   // of all nodes
	most     int   // claims in one call
	calls    []int // claims in each call
}

func (r *redis) with(f func(r *redis)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f(r)
}

func (r *redis) Acquire(_ context.Context, holder string, claims []lease.Claim) []lease.Outcome {
	r.mu.Lock()
	delay := r.delay
	r.calls = append(r.calls, len(claims))
	for _, c := range claims {
		if r.hangs(c.Session) {
			delay = 2 * time.Second
		}
	}
	r.mu.Unlock()
	if delay > 0 {
		time.Sleep(delay)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.most = max(r.most, len(claims))
	out := make([]lease.Outcome, len(claims))
	for i, c := range claims {
		out[i] = lease.Outcome{Session: c.Session, Holder: r.leases[c.Session], Remaining: time.Minute}
		switch {
		case r.down, r.mute, r.hangs(c.Session):
			out[i] = lease.Outcome{Session: c.Session, Err: errRedis}
		case r.leases[c.Session] == "":
			r.tokens[c.Session]++
			r.leases[c.Session] = holder
			out[i] = lease.Outcome{Session: c.Session, Granted: true, Holder: holder, Token: r.tokens[c.Session]}
		}
	}
	return out
}

// hangs reports whether what is so named is on the server that hangs.
func (r *redis) hangs(name string) bool { return r.hung != "" && name[:1] == r.hung }

// Place implements lease.Placer: it is told by the first letter.
func (*redis) Place(_ context.Context, id string) string { return id[:1] }

func (*redis) Renew(context.Context, []lease.Renewal) []lease.Verdict { return nil }
func (*redis) Release(context.Context, []lease.Release) []error       { return nil }

func (r *redis) Look(_ context.Context, sessions []string) []lease.Status {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make([]lease.Status, len(sessions))
	for i, id := range sessions {
		out[i] = lease.Status{Session: id, Holder: r.leases[id], Remaining: time.Minute}
	}
	return out
}

func (*redis) Beat(context.Context, string, time.Duration) error { return nil }
func (*redis) Leave(context.Context, string) error               { return nil }

func (r *redis) List(context.Context) ([]lease.Member, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lists++
	if r.down {
		return nil, errRedis
	}
	return r.known(append([]string{self}, r.peers...))
}

// known are the members of which anything can be told.
func (r *redis) known(names []string) ([]lease.Member, error) {
	told := slices.DeleteFunc(slices.Clone(names), r.hangs)
	if len(told) < len(names) {
		return r.members(told), errRedis
	}
	return r.members(told), nil
}

func (*redis) members(names []string) []lease.Member {
	members := make([]lease.Member, len(names))
	for i, name := range names {
		members[i] = lease.Member{Instance: name, Remaining: 30 * time.Second}
	}
	return members
}

func (*redis) LossNoted(context.Context) (time.Duration, bool, error) { return 0, false, nil }
func (*redis) NoteLoss(context.Context, string, time.Duration) error  { return nil }

func (r *redis) Check(_ context.Context, names []string) ([]lease.Member, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(names) == 1+len(r.peers) {
		r.checks++
	}
	return r.known(names)
}

func (r *redis) Scan(_ context.Context, each func([]session.Document)) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.scans++
	if r.down {
		return errRedis
	}
	var docs []session.Document
	var err error
	for id, raw := range r.docs {
		if r.hangs(id) && !r.readable {
			err = errRedis
			continue
		}
		docs = append(docs, session.Document{ID: id, Raw: []byte(raw)})
	}
	each(docs)
	return err
}

func (r *redis) Get(_ context.Context, ids []string) ([]session.Document, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.down {
		return nil, errRedis
	}
	var docs []session.Document
	var err error
	for _, id := range ids {
		d := session.Document{ID: id}
		if raw, ok := r.docs[id]; ok {
			d.Raw = []byte(raw)
		}
		if r.hangs(id) && !r.readable {
			err = errRedis
			d = session.Document{ID: id, Unread: err}
		}
		docs = append(docs, d)
	}
	return docs, err
}

func (r *redis) Healthy() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.deaf
}

func (r *redis) Take() []redisevents.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	taken := r.events
	r.events = nil
	return taken
}

const good = `{"url":"http://192.0.2.1/"}`

// bench is a membership actor under a spec, with stubs for leaseholders.
type bench struct {
	system          *actortest.System
	parent, renewer *actortest.Probe
	redis           *redis
	cfg             membership.Config
	pid             *actor.PID

	mu     sync.Mutex
	alive  map[string]*actor.PID
	orders []string
	owned  int
}

// holder is a stub of a leaseholder: it ends as it is told to.
type holder struct {
	b   *bench
	cfg leaseholder.Config
}

func (h *holder) Receive(c actor.Context) {
	id := h.cfg.Term.Session
	h.b.mu.Lock()
	defer h.b.mu.Unlock()
	switch m := c.Message().(type) {
	case *actor.Started:
		if _, ok := h.b.alive[id]; ok {
			h.b.orders = append(h.b.orders, "SECOND "+id)
		}
		h.b.alive[id] = c.Self()
		h.b.orders = append(h.b.orders, "made "+id)
	case *actor.Stopped:
		delete(h.b.alive, id)
	case *leaseholder.Release:
		h.b.orders = append(h.b.orders, string(m.Reason)+" "+id)
		h.b.redis.with(func(r *redis) { delete(r.leases, id) })
		c.Request(c.Parent(), &leaseholder.Ended{Grant: h.cfg.Term.Grant, Released: true, Reason: m.Reason})
	case *leaseholder.Abort:
		h.b.orders = append(h.b.orders, "abort "+id)
	case *leaseholder.Update:
		h.b.orders = append(h.b.orders, "update "+id)
	case string:
		panic(m)
	}
}

func (b *bench) take() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	list := b.orders
	b.orders = nil
	sort.Strings(list)
	return list
}

func (b *bench) holds() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.alive)
}

func (b *bench) tell(m any) {
	b.system.Root.Send(b.pid, m)
	bubble.Sleep(0)
}

func (b *bench) event(e redisevents.Event) {
	b.redis.with(func(r *redis) { r.events = append(r.events, e) })
	b.tell(&membership.EventsReady{})
}

func (b *bench) drained() int { return actortest.Count[*membership.Drained](b.parent) }

func run(docs map[string]string, f func(g Gomega, b *bench), change ...func(*bench)) {
	GinkgoHelper()
	bubble.Run(func(g Gomega) {
		b := &bench{
			system: actortest.NewSystem(), alive: map[string]*actor.PID{},
			redis: &redis{docs: docs, leases: map[string]string{}, tokens: map[string]lease.Token{}},
		}
		defer b.system.Close()
		b.parent = b.system.NewProbe(nil)
		defer b.parent.Stop()
		b.renewer = b.system.NewProbe(func(_ actor.Context, message any) {
			if m, ok := message.(*renewer.Release); ok {
				b.redis.with(func(r *redis) { delete(r.leases, m.Release.Session) })
				m.ReplyTo.Send(&renewer.Released{Grant: m.Release.Grant})
			}
		})
		b.cfg = membership.Config{
			Settings: membership.Settings{
				Instance: self, TTL: 30 * time.Second, Margin: 2 * time.Second, Reconcile: 10 * time.Second,
				Keys: rediskey.Default(),
			},
			Context: context.Background(), Store: b.redis, Members: b.redis, Source: b.redis, Events: b.redis,
			Owned: func(n int) {
				b.mu.Lock()
				defer b.mu.Unlock()
				b.owned = n
			},
			Holder: func(cfg leaseholder.Config) *actor.Props {
				return tree.Props(func() actor.Actor { return &holder{b: b, cfg: cfg} }, b.system.Report)
			},
			Renewer: b.renewer.PID(), Log: b.system.Log, Report: b.system.Report,
		}
		for _, c := range change {
			c(b)
		}
		b.pid = b.parent.Spawn(membership.Props(b.cfg), "membership")
		bubble.Sleep(0)
		f(g, b)
	})
}

func many(n int) map[string]string {
	docs := map[string]string{}
	for i := range n {
		docs[fmt.Sprint("s", i)] = good
	}
	return docs
}

var _ = Describe("the membership actor", func() {
	It("makes a leaseholder of each session, whatever its ID looks like, and tells how many there are", func() {
		docs := map[string]string{"a/b": good, "a:b": good, "$x y": good, "{}x": good, "ü": good}
		run(docs, func(g Gomega, b *bench) {
			bubble.Sleep(time.Second)
			g.Expect(b.take()).To(ConsistOf("made a/b", "made a:b", "made $x y", "made {}x", "made ü"))
			b.mu.Lock()
			defer b.mu.Unlock()
			g.Expect(b.owned).To(Equal(5))
		})
	})

	It("starts as soon as Redis answers, and asks again with patience until then", func() {
		run(many(1), func(g Gomega, b *bench) {
			b.redis.with(func(r *redis) { r.down = true })
			bubble.Sleep(time.Minute)
			var scans, lists int
			b.redis.with(func(r *redis) { scans, lists, r.down = r.scans, r.lists, false })
			g.Expect(scans).To(BeNumerically("<", 40))
			g.Expect(lists).To(BeNumerically("<", 300))
			bubble.Sleep(3 * time.Second)
			g.Expect(b.holds()).To(Equal(1))
		}, func(b *bench) { b.redis.down = true })
	})

	It("claims in batches", func() {
		run(many(1200), func(g Gomega, b *bench) {
			bubble.Sleep(time.Second)
			g.Expect(b.holds()).To(Equal(1200))
			b.redis.with(func(r *redis) { g.Expect(r.most).To(Equal(500)) })
		})
	})

	It("sends claims together that come while two calls are under way", func() {
		run(many(100), func(g Gomega, b *bench) {
			bubble.Sleep(time.Second)
			b.redis.with(func(r *redis) {
				r.delay, r.calls = 90*time.Millisecond+time.Millisecond/2, nil
				clear(r.leases)
			})
			for i := range 100 { // one lease after the other ends
				b.event(redisevents.LeaseFreed{Session: fmt.Sprint("s", i), Cause: redisevents.Deleted})
				bubble.Sleep(time.Millisecond)
			}
			bubble.Sleep(time.Second)
			g.Expect(b.holds()).To(Equal(100))
			b.redis.with(func(r *redis) { g.Expect(r.calls).To(Equal([]int{1, 1, 89, 1, 8})) })
		}, func(b *bench) {
			for id := range b.redis.docs {
				b.redis.leases[id] = "other"
			}
		})
	})

	It("does not send claims that wait once it is fenced, or drains", func() {
		for _, message := range []membership.Message{&membership.Fenced{Fenced: true}, &membership.Drain{}} {
			run(many(5000), func(g Gomega, b *bench) {
				bubble.Sleep(time.Second)
				b.tell(message)
				bubble.Sleep(30 * time.Second)
				b.redis.with(func(r *redis) { g.Expect(r.calls).To(Equal([]int{500, 500})) })
			}, func(b *bench) { b.redis.delay = 2 * time.Second })
		}
	})

	It("does not send claims that wait while Redis does not answer, and sends them when it does", func() {
		run(many(5000), func(g Gomega, b *bench) {
			bubble.Sleep(2600 * time.Millisecond)
			b.redis.with(func(r *redis) {
				g.Expect(r.calls).To(Equal([]int{500, 500}), "the others would wait as long each")
				r.mute, r.delay = false, 0
			})
			bubble.Sleep(5 * time.Second)
			g.Expect(b.holds()).To(Equal(5000))
		}, func(b *bench) { b.redis.mute, b.redis.delay = true, 2*time.Second })
	})

	It("reads what an event names, and finds by the scan what no event named", func() {
		run(nil, func(g Gomega, b *bench) {
			bubble.Sleep(time.Second)
			b.redis.with(func(r *redis) { r.docs = map[string]string{"a": good, "b": good} })
			b.event(redisevents.SessionTouched{ID: "a"})
			bubble.Sleep(250 * time.Millisecond)
			g.Expect(b.take()).To(Equal([]string{"made a"}))
			bubble.Sleep(10 * time.Second)
			g.Expect(b.take()).To(Equal([]string{"made b"}))
			g.Expect(b.system.Events("reconcile.repaired")).To(HaveLen(1))
		})
	})

	It("lists the nodes of a large fleet less often, and reads the heartbeats that it knows", func() {
		peers := func(r *redis) {
			for i := range 11 { // twelve nodes: every third time
				r.peers = append(r.peers, fmt.Sprintf("peer%d-1-00000001", i))
			}
		}
		run(nil, func(g Gomega, b *bench) {
			counts := func(d time.Duration) (lists, scans, checks int) {
				b.redis.with(func(r *redis) { r.lists, r.scans, r.checks = 0, 0, 0 })
				bubble.Sleep(d)
				b.redis.with(func(r *redis) { lists, scans, checks = r.lists, r.scans, r.checks })
				return lists, scans, checks
			}
			bubble.Sleep(time.Second)
			lists, scans, checks := counts(time.Minute)
			g.Expect([]int{lists, scans, checks}).To(Equal([]int{2, 2, 4}))
			b.redis.with(func(r *redis) { r.deaf = true })
			bubble.Sleep(10 * time.Second)
			lists, scans, _ = counts(time.Minute)
			g.Expect([]int{lists, scans}).To(Equal([]int{6, 2}))
		}, func(b *bench) { peers(b.redis) })
	})

	It("takes the events that were announced to the actor before it", func() {
		run(many(1), func(g Gomega, b *bench) {
			bubble.Sleep(time.Second)
			g.Expect(actortest.Count[*renewer.RenewAll](b.renewer)).To(Equal(1))
		}, func(b *bench) {
			b.redis.events = []redisevents.Event{redisevents.Gap{Restarted: true}}
		})
	})

	It("reads again what it could not read", func() {
		run(nil, func(g Gomega, b *bench) {
			bubble.Sleep(time.Second)
			b.redis.with(func(r *redis) { r.docs, r.down = many(1), true })
			b.event(redisevents.SessionTouched{ID: "s0"})
			bubble.Sleep(2 * time.Second)
			b.redis.with(func(r *redis) { r.down = false })
			bubble.Sleep(time.Second)
			g.Expect(b.take()).To(Equal([]string{"made s0"}))
		})
	})

	It("has a document without use reported, and an edit passed on", func() {
		docs := many(1)
		docs["bad"] = `{`
		run(docs, func(g Gomega, b *bench) {
			bubble.Sleep(time.Second)
			g.Expect(b.system.Events("session.invalid")).To(HaveLen(1))
			b.redis.with(func(r *redis) { r.docs["s0"] = `{"url":"http://192.0.2.2/"}` })
			b.event(redisevents.SessionTouched{ID: "s0"})
			g.Expect(b.take()).To(Equal([]string{"made s0", "update s0"}))
		})
	})

	It("replaces a leaseholder that failed, after its lease was given back", func() {
		run(many(1), func(g Gomega, b *bench) {
			bubble.Sleep(time.Second)
			b.mu.Lock()
			pid := b.alive["s0"]
			b.mu.Unlock()
			b.system.Root.Send(pid, "planned")
			bubble.Sleep(time.Second)
			g.Expect(b.take()).To(Equal([]string{"made s0", "made s0"}))
			g.Expect(actortest.Count[*renewer.Release](b.renewer)).To(Equal(1))
			g.Expect(b.holds()).To(Equal(1))
		})
	})
})

var _ = Describe("a drain of the membership actor", func() {
	It("is reported once, when every lease was given back", func() {
		run(many(3), func(g Gomega, b *bench) {
			bubble.Sleep(time.Second)
			b.take()
			b.tell(&membership.Drain{})
			g.Expect(b.take()).To(Equal([]string{"shutdown s0", "shutdown s1", "shutdown s2"}))
			g.Expect(b.drained()).To(Equal(1))
			bubble.Sleep(time.Minute)
			g.Expect(b.drained()).To(Equal(1))
			g.Expect(b.holds()).To(BeZero())
		})
	})

	It("waits for claims in flight and gives back what they bring", func() {
		run(many(3), func(g Gomega, b *bench) {
			b.redis.with(func(r *redis) { r.delay = 2 * time.Second })
			bubble.Sleep(time.Second)
			b.tell(&membership.Drain{})
			g.Expect(b.drained()).To(BeZero())
			bubble.Sleep(2 * time.Second)
			g.Expect(b.drained()).To(Equal(1))
			b.redis.with(func(r *redis) { g.Expect(r.leases).To(BeEmpty()) })
			g.Expect(b.take()).To(BeEmpty())
		})
	})

	It("passes an abort on to its leaseholders", func() {
		run(many(1), func(g Gomega, b *bench) {
			bubble.Sleep(time.Second)
			b.take()
			b.tell(&membership.Abort{})
			g.Expect(b.take()).To(Equal([]string{"abort s0"}))
		})
	})
})

var _ = Describe("a membership actor that is stopped", func() {
	It("takes all leaseholders along and makes no more, also with claims in flight", func() {
		run(many(3), func(g Gomega, b *bench) {
			bubble.Sleep(time.Second)
			b.redis.with(func(r *redis) { r.docs["new"], r.delay = good, 2*time.Second })
			b.event(redisevents.SessionTouched{ID: "new"})
			b.take()
			b.parent.StopChild(b.pid)
			bubble.Sleep(time.Minute)
			g.Expect(b.holds()).To(BeZero())
			g.Expect(b.take()).To(BeEmpty())
			g.Expect(b.parent.Kinds()).To(Equal([]string{"Terminated"}))
		})
	})
})
