package redisstore_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/redis/go-redis/v9"

	"leasehold/internal/redistest"
	"leasehold/lease"
	"leasehold/lease/leasetest"
	"leasehold/rediskey"
	"leasehold/redisstore"
)

// Calls go to the master that the client believes in, which may be a former one.
var _ = Describe("a store on a cluster that moves a slot", func() {
	ctx := context.Background()

	It("follows it while it is on its way and afterwards, to a master that knows no script", func() {
		cluster := redistest.StartCluster(GinkgoTB())
		client, err := redisstore.Open(cluster.URL(), redisstore.OpenOptions{})
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(client.Close)
		s := redisstore.New(client, rediskey.Default(), redisstore.Options{})
		o := s.Acquire(ctx, "n1", claims(1))[0]
		Expect(o.Granted).To(BeTrue())
		grant := lease.Grant{Session: "s0", Holder: "n1", Token: o.Token}
		key, state := rediskey.Default().Lease("s0"), rediskey.Default().State("s0")

		first, err := client.(*redis.ClusterClient).MasterForKey(ctx, key)
		Expect(err).NotTo(HaveOccurred())
		from, to := cluster.Nodes[0], cluster.Nodes[1]
		for i, n := range cluster.Nodes {
			if n.Addr() == first.Options().Addr {
				from, to = n, cluster.Nodes[(i+1)%len(cluster.Nodes)]
			}
		}
		admin := map[*redistest.Server]*redis.Client{}
		for _, n := range cluster.Nodes {
			admin[n] = n.Client()
			DeferCleanup(admin[n].Close)
		}
		slot := admin[from].ClusterKeySlot(ctx, key).Val()
		do := func(n *redistest.Server, args ...any) {
			GinkgoHelper()
			Expect(admin[n].Do(ctx, args...).Err()).To(Succeed())
		}
		do(to, "CLUSTER", "SETSLOT", slot, "IMPORTING", admin[from].ClusterMyID(ctx).Val())
		do(from, "CLUSTER", "SETSLOT", slot, "MIGRATING", admin[to].ClusterMyID(ctx).Val())
		do(from, "MIGRATE", "127.0.0.1", to.Port, "", 0, 5000, "KEYS", key, state)

		use := func() {
			GinkgoHelper()
			Expect(s.Renew(ctx, leasetest.Renewals(time.Minute, grant))[0].Err).NotTo(HaveOccurred())
			start, err := s.Begin(ctx, grant, lease.Slot{Interval: time.Millisecond, Bound: time.Second})
			Expect(err).NotTo(HaveOccurred())
			Expect(s.Finish(ctx, grant, lease.Result{Started: start.At, OK: true})).To(Succeed())
			time.Sleep(2 * time.Millisecond)
		}
		use()
		do(to, "SCRIPT", "FLUSH")
		for _, n := range cluster.Nodes {
			do(n, "CLUSTER", "SETSLOT", slot, "NODE", admin[to].ClusterMyID(ctx).Val())
		}
		Eventually(func() error { return s.Renew(ctx, leasetest.Renewals(time.Minute, grant))[0].Err }, "5s").Should(Succeed())
		use()
	})
})
