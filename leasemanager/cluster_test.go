package leasemanager_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/redis/go-redis/v9"

	"leasehold/internal/redistest"
	"leasehold/leasemanager"
	"leasehold/rediskey"
)

// The same where leases lie on three masters, each of which announces its own alone.
var _ = Describe("members on a Redis Cluster", Ordered, func() {
	const noise = 5 * time.Second // of the machine
	ctx := context.Background()
	keys := rediskey.Default()
	var (
		cluster *redistest.Cluster
		rdb     *redis.ClusterClient
		ids     []string
	)
	start := func(options ...leasemanager.Option) *leasemanager.Member {
		m, err := leasemanager.New(leasemanager.Config{RedisURL: cluster.URL(), LeaseTTL: 3 * time.Second}, options...)
		Expect(err).NotTo(HaveOccurred())
		Expect(m.Start(ctx)).To(Succeed())
		DeferCleanup(func() { _ = m.Stop() })
		return m
	}
	holder := func(id string) string { return rdb.Get(ctx, keys.Lease(id)).Val() }
	BeforeAll(func() {
		cluster = redistest.StartCluster(GinkgoTB())
		rdb = cluster.Client()
		DeferCleanup(rdb.Close)
		ids = []string{"{}x", "}{", "a{b}c", "ü n\n"}
		for i := range 8 {
			ids = append(ids, fmt.Sprintf("s%d", i))
		}
		slices.Sort(ids)
		masters := map[string]bool{}
		for _, id := range ids {
			m, err := rdb.MasterForKey(ctx, keys.Lease(id))
			Expect(err).NotTo(HaveOccurred())
			masters[m.Options().Addr] = true
		}
		Expect(masters).To(HaveLen(3))
	})

	It("have each session one at a time, hear of each loss, and hand over with the next token", func() {
		a, b := start(), start()
		tokens := map[string]int64{}
		for _, id := range ids {
			Expect(a.TryAcquire(ctx, id)).To(BeTrue(), id)
			Expect(b.TryAcquire(ctx, id)).To(BeFalse(), id)
			Expect(holder(id)).To(Equal(a.InstanceID()), id)
			token, _ := a.Token(id)
			Expect(rdb.HGet(ctx, keys.State(id), "version").Val()).To(Equal(strconv.FormatInt(token, 10)), id)
			tokens[id] = token
		}
		Expect(a.OwnedSessions()).To(Equal(ids))
		Expect(a.GetLiveNodes(ctx)).To(ConsistOf(a.InstanceID(), b.InstanceID()))
		for _, id := range ids {
			by, err := b.PreferredOwner(ctx, id)
			Expect(err).NotTo(HaveOccurred())
			Expect(a.PreferredOwner(ctx, id)).To(Equal(by), id)
		}
		Consistently(func() int { return len(a.OwnedSessions()) }, 4*time.Second, time.Second/2).Should(Equal(len(ids)))

		// They outlived their TTL, so events are subscribed to by now. A renewal would
		// notice too, but not before a third of the TTL.
		lost := map[string]bool{}
		for _, id := range ids {
			m, _ := rdb.MasterForKey(ctx, keys.Lease(id))
			if lost[m.Options().Addr] {
				continue
			}
			lost[m.Options().Addr] = true
			lease := a.Context(id)
			Expect(rdb.Del(ctx, keys.Lease(id)).Err()).To(Succeed())
			Eventually(lease.Done(), noise).Should(BeClosed(), id)
			Expect(context.Cause(lease)).To(MatchError(leasemanager.ErrLost), id)
			// What was done under the lease may be ending still.
			Eventually(func() (bool, error) { return a.TryAcquire(ctx, id) }, noise).Should(BeTrue(), id)
			tokens[id]++
		}

		Expect(a.Stop()).To(Succeed())
		for _, id := range ids {
			Expect(b.TryAcquire(ctx, id)).To(BeTrue(), id)
			token, _ := b.Token(id)
			Expect(token).To(Equal(tokens[id]+1), id)
			Expect(b.Release(ctx, id)).To(Succeed())
			Expect(holder(id)).To(BeEmpty(), id)
		}
	})

	It("are reached where blanks stand between the addresses", func() {
		spaced := " redis://" + strings.Join(cluster.Addrs(), " , redis://")
		m, err := leasemanager.New(leasemanager.Config{RedisURL: spaced})
		Expect(err).NotTo(HaveOccurred(), "as the program has it")
		Expect(m.Start(ctx)).To(Succeed())
		defer func() { _ = m.Stop() }()
		Expect(m.TryAcquire(ctx, "spaced")).To(BeTrue())
		Expect(m.Release(ctx, "spaced")).To(Succeed())
	})

	It("share the documents and poll each, one at a time", func() {
		w := &works{}
		a, b := start(leasemanager.WithPoller(w.poll)), start(leasemanager.WithPoller(w.poll))
		for _, id := range ids {
			Expect(rdb.Set(ctx, keys.Session(id), `{"url":"http://x/","interval":"200ms"}`, 0).Err()).To(Succeed())
		}
		loads := func() map[string]int {
			n := map[string]int{}
			for _, id := range ids {
				n[holder(id)]++
			}
			return n
		}
		Eventually(loads, 2*noise).Should(Equal(map[string]int{a.InstanceID(): len(ids) / 2, b.InstanceID(): len(ids) / 2}))
		begun := len(w.all())
		Eventually(func() int {
			polled := map[string]bool{}
			for _, r := range w.all()[begun:] {
				polled[r.SessionID] = true
			}
			return len(polled)
		}, 2*noise).Should(Equal(len(ids)))
		Expect(a.Stop()).To(Succeed())
		Eventually(loads, 2*noise).Should(Equal(map[string]int{b.InstanceID(): len(ids)}))
		w.mu.Lock()
		defer w.mu.Unlock()
		Expect(w.overlaps).To(BeEmpty())
	})
})
