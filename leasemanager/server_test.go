package leasemanager_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"leasehold/internal/redistest"
	"leasehold/leasemanager"
)

// The same on a real server, in real time, with short leases.
var _ = Describe("members on a Redis server", func() {
	const (
		short = 3 * time.Second
		noise = time.Second
	)
	ctx := context.Background()
	var (
		server *redistest.Server
		a, b   *leasemanager.Member
	)
	BeforeEach(func() {
		server = redistest.StartServer(GinkgoTB())
		start := func() *leasemanager.Member {
			m, err := leasemanager.New(leasemanager.Config{RedisURL: server.URL(), LeaseTTL: short})
			Expect(err).NotTo(HaveOccurred())
			Expect(m.Start(ctx)).To(Succeed())
			DeferCleanup(func() { _ = m.Stop() })
			return m
		}
		a, b = start(), start()
		Expect(a.TryAcquire(ctx, "s")).To(BeTrue())
		Expect(b.TryAcquire(ctx, "s")).To(BeFalse())
	})

	It("have a session one at a time, and the token rises by one", func() {
		first, _ := a.Token("s")
		Consistently(func() bool { return a.IsOwned("s") }, 2*short, short/10).Should(BeTrue())
		Expect(b.TryAcquire(ctx, "s")).To(BeFalse())
		Expect(a.Stop()).To(Succeed())
		Expect(b.TryAcquire(ctx, "s")).To(BeTrue())
		second, _ := b.Token("s")
		Expect(second).To(Equal(first + 1))
		Expect(b.GetLiveNodes(ctx)).To(Equal([]string{b.InstanceID()}))
	})

	It("notice at once that somebody deleted a lease", func() {
		client := server.Client()
		DeferCleanup(client.Close)
		time.Sleep(short / 2) // until the events are subscribed to
		lease := a.Context("s")
		Expect(client.Del(ctx, "poll:lease:s").Err()).To(Succeed())
		Eventually(lease.Done(), noise).Should(BeClosed())
		Expect(context.Cause(lease)).To(MatchError(leasemanager.ErrLost))
	})

	It("end their leases while the server hangs, before another can have them", func() {
		lease := a.Context("s")
		server.Pause()
		DeferCleanup(server.Continue)
		Eventually(func() bool { return a.IsOwned("s") }, short+noise).Should(BeFalse())
		Eventually(lease.Done(), short+noise).Should(BeClosed())
		Expect(context.Cause(lease)).To(MatchError(leasemanager.ErrExpired))
		server.Continue()
		Eventually(func() (bool, error) { return b.TryAcquire(ctx, "s") }, 2*short).Should(BeTrue())
		Expect(a.TryAcquire(ctx, "s")).To(BeFalse())
	})
})
