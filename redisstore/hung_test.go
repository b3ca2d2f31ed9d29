package redisstore_test

import (
	"context"
	"fmt"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/redis/go-redis/v9"

	"leasehold/internal/redistest"
	"leasehold/lease"
	"leasehold/lease/leasetest"
	"leasehold/rediskey"
	"leasehold/redisstore"
	"leasehold/session"
)

// halting is a cluster one of whose masters hangs at times: its sockets stay open and
// nothing answers. The others go on without it.
type halting struct {
	cluster *redistest.Cluster
	admin   *redis.ClusterClient
	client  redis.UniversalClient
	store   *redisstore.Store
	victim  *redistest.Server
	next    int // session
}

const (
	hangTimeout = 2 * time.Second
	soon        = hangTimeout / 2 // far more than an answer takes
)

func newHalting() *halting {
	h := &halting{cluster: redistest.StartCluster(GinkgoTB())}
	ctx := context.Background()
	h.admin = h.cluster.Client()
	DeferCleanup(h.admin.Close)
	for _, n := range h.cluster.Nodes {
		c := n.Client()
		Expect(c.ConfigSet(ctx, "cluster-require-full-coverage", "no").Err()).To(Succeed())
		Expect(c.ConfigSet(ctx, "cluster-node-timeout", "60000").Err()).To(Succeed())
		Expect(c.Close()).To(Succeed())
	}
	client, err := redisstore.Open(h.cluster.URL(), redisstore.OpenOptions{Timeout: hangTimeout})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(client.Close)
	h.client = client
	h.store = redisstore.New(client, rediskey.Default(), redisstore.Options{Timeout: hangTimeout, Stream: stream})
	h.victim = h.cluster.Nodes[0]
	if h.on(stream) { // its results are not what is tested here
		h.victim = h.cluster.Nodes[1]
	}
	return h
}

// on reports whether a key lies on the master that hangs.
func (h *halting) on(key string) bool {
	GinkgoHelper()
	master, err := h.admin.MasterForKey(context.Background(), key)
	Expect(err).NotTo(HaveOccurred())
	return master.Options().Addr == h.victim.Addr()
}

// ids are n new ones that fit.
func (h *halting) ids(n int, fits func(id string) bool) []string {
	GinkgoHelper()
	var ids []string
	for ; len(ids) < n; h.next++ {
		if id := fmt.Sprintf("h%d", h.next); fits(id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// mixed are sessions of which every other one's lease is on the master that hangs.
func (h *halting) mixed(n int) []lease.Claim {
	GinkgoHelper()
	fine, bad := h.ids(n, func(id string) bool { return !h.lies(id) }), h.ids(n, h.lies)
	var claims []lease.Claim
	for i := range n {
		claims = append(claims, lease.Claim{Session: fine[i], TTL: time.Minute}, lease.Claim{Session: bad[i], TTL: time.Minute})
	}
	return claims
}

func (h *halting) take(n int) []lease.Grant {
	GinkgoHelper()
	var grants []lease.Grant
	for _, o := range h.store.Acquire(context.Background(), "n1", h.mixed(n)) {
		Expect(o.Granted).To(BeTrue(), "%+v", o)
		grants = append(grants, lease.Grant{Session: o.Session, Holder: "n1", Token: o.Token})
	}
	return grants
}

func (h *halting) pause() {
	h.victim.Pause()
	DeferCleanup(h.victim.Continue)
}

func (h *halting) lies(id string) bool { return h.on(rediskey.Default().Lease(id)) }

// unknown expects an error that is neither a loss nor a success.
func unknown(err error) {
	GinkgoHelper()
	Expect(err).To(HaveOccurred())
	Expect(err).NotTo(Or(MatchError(lease.ErrLost), MatchError(lease.ErrForeign)))
}

var _ = Describe("a store on a cluster of which one master hangs", Ordered, func() {
	ctx := context.Background()
	slot := lease.Slot{Interval: time.Millisecond, Bound: time.Minute}
	var h *halting
	BeforeAll(func() { h = newHalting() })

	It("knows all of the leases of the others, and nothing of those on it", func() {
		grants := h.take(10)
		fresh := h.mixed(10)
		var sessions []string
		for _, g := range grants {
			sessions = append(sessions, g.Session)
		}
		h.pause()
		var wg sync.WaitGroup
		judge := func(what string, results func() []error, session func(i int) string) {
			wg.Go(func() {
				defer GinkgoRecover()
				for i, err := range results() {
					if h.lies(session(i)) {
						unknown(err)
					} else {
						Expect(err).NotTo(HaveOccurred(), what)
					}
				}
			})
		}
		held := func(i int) string { return sessions[i] }
		judge("renew", func() []error {
			return errsOf(h.store.Renew(ctx, leasetest.Renewals(time.Minute, grants...)), func(v lease.Verdict) error { return v.Err })
		}, held)
		judge("acquire", func() []error {
			return errsOf(h.store.Acquire(ctx, "n1", fresh), func(o lease.Outcome) error {
				if o.Err == nil && !o.Granted {
					return fmt.Errorf("not granted: %+v", o)
				}
				return o.Err
			})
		}, func(i int) string { return fresh[i].Session })
		judge("look", func() []error {
			return errsOf(h.store.Look(ctx, sessions), func(s lease.Status) error { return s.Err })
		}, held)
		judge("read", func() []error {
			return errsOf(h.store.Read(ctx, sessions), func(r lease.Record) error { return r.Err })
		}, held)
		wg.Wait()
		releases := make([]lease.Release, len(grants))
		for i, g := range grants {
			releases[i] = lease.Release{Grant: g}
		}
		judge("release", func() []error { return h.store.Release(ctx, releases) }, held)
		wg.Wait()
	})

	It("takes no longer for the others", func() {
		grants := h.take(300)
		var fine []lease.Grant
		for _, g := range grants {
			if !h.lies(g.Session) {
				fine = append(fine, g)
			}
		}
		h.pause()
		go h.store.Renew(ctx, leasetest.Renewals(time.Minute, grants...))
		time.Sleep(10 * time.Millisecond)
		for range 20 {
			began := time.Now()
			for _, v := range h.store.Renew(ctx, leasetest.Renewals(time.Minute, fine...)) {
				Expect(v.Err).NotTo(HaveOccurred())
			}
			Expect(time.Since(began)).To(BeNumerically("<", soon))
		}
	})

	It("begins and ends the polls of the others at their pace", func() {
		grants := h.take(20)
		for _, g := range grants { // whatever is asked for first is known
			_, err := h.store.Begin(ctx, g, slot)
			Expect(err).NotTo(HaveOccurred())
			Expect(h.store.Finish(ctx, g, lease.Result{OK: true})).To(Succeed())
		}
		h.pause()
		over := time.Now().Add(2 * hangTimeout)
		var wg sync.WaitGroup
		for _, g := range grants {
			wg.Go(func() {
				defer GinkgoRecover()
				for time.Now().Before(over) {
					began := time.Now()
					_, err := h.store.Begin(ctx, g, slot)
					if h.lies(g.Session) {
						unknown(err)
						unknown(h.store.Finish(ctx, g, lease.Result{OK: true}))
						continue
					}
					Expect(err).NotTo(HaveOccurred())
					Expect(h.store.Finish(ctx, g, lease.Result{OK: true})).To(Succeed())
					Expect(time.Since(began)).To(BeNumerically("<", soon))
					time.Sleep(20 * time.Millisecond)
				}
			})
		}
		wg.Wait()
		h.victim.Continue()
		for _, g := range grants {
			Eventually(func() error { _, err := h.store.Begin(ctx, g, slot); return err }, "10s").Should(Succeed())
			Expect(h.store.Finish(ctx, g, lease.Result{OK: true})).To(Succeed())
		}
	})

	It("ends a poll at its pace whose result belongs into a stream on it, and tells of what is lost", func() {
		g := h.take(1)[0] // of the session that is elsewhere
		Expect(h.lies(g.Session)).To(BeFalse())
		name := h.ids(1, h.on)[0]
		lost := make(chan string, 1000)
		s := redisstore.New(h.client, rediskey.Default(), redisstore.Options{
			Timeout: hangTimeout, Stream: name, OnForeign: func(key, reason string) { lost <- key + ": " + reason },
		})
		poll := func() {
			began := time.Now()
			_, err := s.Begin(ctx, g, slot)
			Expect(err).NotTo(HaveOccurred())
			Expect(s.Finish(ctx, g, lease.Result{OK: true, Event: []byte("{}")})).To(Succeed())
			Expect(time.Since(began)).To(BeNumerically("<", soon))
		}
		poll()
		Expect(h.admin.XLen(ctx, name).Val()).To(Equal(int64(1)))
		h.pause()
		for range 30 {
			poll()
			time.Sleep(10 * time.Millisecond)
		}
		Eventually(lost, "5s").Should(Receive(HavePrefix(name + ": ")))
		h.victim.Continue()
		Eventually(func() int64 { return h.admin.XLen(ctx, name).Val() }, "5s").Should(BeNumerically(">=", 1))
		before := h.admin.XLen(ctx, name).Val()
		Eventually(func() int64 { poll(); return h.admin.XLen(ctx, name).Val() }, "10s").Should(BeNumerically(">", before))
	})

	It("loads a script where it is missing, and nowhere else", func() {
		grants := h.take(3)
		for _, n := range h.cluster.Nodes {
			c := n.Client()
			Expect(c.ScriptFlush(ctx).Err()).To(Succeed())
			Expect(c.Close()).To(Succeed())
		}
		h.pause()
		for _, g := range grants {
			if h.lies(g.Session) {
				continue
			}
			began := time.Now()
			Expect(h.store.Renew(ctx, leasetest.Renewals(time.Minute, g))[0].Err).NotTo(HaveOccurred())
			_, err := h.store.Begin(ctx, g, slot)
			Expect(err).NotTo(HaveOccurred())
			Expect(time.Since(began)).To(BeNumerically("<", soon))
		}
	})

	It("reads the documents and the heartbeats of the others, and says that it is not all", func() {
		key := rediskey.Default().Session
		docs := append(
			h.ids(5, func(id string) bool { return !h.on(key(id)) }), h.ids(5, func(id string) bool { return h.on(key(id)) })...,
		)
		for _, id := range docs {
			Expect(h.admin.Set(ctx, key(id), "{}", 0).Err()).To(Succeed())
		}
		node, cordon := rediskey.Default().Node, rediskey.Default().Cordon
		nodes := append(
			h.ids(2, func(name string) bool { return !h.on(node(name)) && !h.on(cordon(name)) }),
			h.ids(2, func(name string) bool { return h.on(node(name)) })...,
		)
		for _, name := range nodes {
			Expect(h.store.Beat(ctx, name, time.Minute)).To(Succeed())
		}
		Expect(h.store.List(ctx)).To(HaveLen(4))
		h.pause()

		got, err := h.store.Get(ctx, docs)
		Expect(err).To(HaveOccurred())
		Expect(got).To(HaveLen(10))
		for i, d := range got {
			Expect(d.ID).To(Equal(docs[i]))
			if i < 5 {
				Expect(d).To(Equal(session.Document{ID: d.ID, Raw: []byte("{}")}))
			} else {
				Expect(d.Unread).To(HaveOccurred())
			}
		}
		found := map[string]bool{}
		Expect(h.store.Scan(ctx, func(docs []session.Document) {
			for _, d := range docs {
				Expect(d.Unread).NotTo(HaveOccurred())
				found[d.ID] = true
			}
		})).NotTo(Succeed())
		Expect(found).To(HaveLen(5))

		names := func(list []lease.Member) (names []string) {
			for _, m := range list {
				Expect(m.Remaining).To(BeNumerically(">", 0))
				names = append(names, m.Instance)
			}
			return names
		}
		list, err := h.store.List(ctx)
		Expect(err).To(HaveOccurred())
		Expect(names(list)).To(ConsistOf(nodes[:2]))
		checked, err := h.store.Check(ctx, nodes)
		Expect(err).To(HaveOccurred())
		Expect(names(checked)).To(ConsistOf(nodes[:2]))
		checked, err = h.store.Check(ctx, nodes[:2])
		Expect(err).NotTo(HaveOccurred())
		Expect(names(checked)).To(Equal(nodes[:2]))
		h.victim.Continue()
		Eventually(func() ([]lease.Member, error) { return h.store.List(ctx) }, "10s").Should(HaveLen(4))
		Expect(h.store.Get(ctx, docs)).To(HaveEach(HaveField("Raw", []byte("{}"))))
	})
})

func errsOf[T any](list []T, of func(T) error) []error {
	errs := make([]error, len(list))
	for i, v := range list {
		errs[i] = of(v)
	}
	return errs
}
