package redisevents_test

import (
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/onsi/gomega"
	"github.com/redis/go-redis/v9"

	"leasehold/internal/redistest"
	"leasehold/redisevents"
)

// The socket lives and nothing comes: only the canary can tell.
func TestDeafSubscription(t *testing.T) {
	g := gomega.NewWithT(t)
	s := redistest.StartServer(t)
	p := redistest.StartProxy(t, s.Addr())
	c := redis.NewClient(redistest.Options(p.Addr()))
	defer func() { _ = c.Close() }()
	h := listening(t, c)
	h.forget()
	g.Expect(p.FreezeSubscribers()).To(gomega.Equal(1))
	must(t, c.Set(t.Context(), "session:missed", "{}", 0).Err())
	took := await(t, 10*time.Second, "gap", func() bool { return len(h.gaps()) > 0 })
	t.Logf("gap %s after the subscription went deaf", took)
	g.Expect(took).To(gomega.BeNumerically("<", 3*time.Second))
	g.Expect(h.noted("lost canary_unheard")).To(gomega.HaveLen(1))
	must(t, c.Set(t.Context(), "session:heard", "{}", 0).Err())
	await(t, 5*time.Second, "event", func() bool {
		return slices.Contains(h.all(), redisevents.Event(redisevents.SessionTouched{ID: "heard"}))
	})
}

// pair is a master and a replica that is in step with it.
func pair(t *testing.T) (master, replica *redistest.Server, m, r *redis.Client) {
	t.Helper()
	master, replica = redistest.StartServer(t), redistest.StartServer(t)
	m, r = master.Client(), replica.Client()
	t.Cleanup(func() { _, _ = m.Close(), r.Close() })
	follow(t, r, master)
	await(t, 15*time.Second, "replica in step", func() bool {
		return strings.Contains(r.Info(t.Context(), "replication").Val(), "master_link_status:up")
	})
	return master, replica, m, r
}

func follow(t *testing.T, c *redis.Client, master *redistest.Server) {
	t.Helper()
	host, port, _ := strings.Cut(master.Addr(), ":")
	must(t, c.Do(t.Context(), "REPLICAOF", host, port).Err())
}

// subscribers counts the connections of listeners.
func subscribers(t *testing.T, c *redis.Client) int {
	t.Helper()
	list, err := c.Do(t.Context(), "CLIENT", "LIST", "TYPE", "pubsub").Text()
	must(t, err)
	return strings.Count(list, "id=")
}

// C05: the address leads to another server, old sockets to the demoted one stay
// open.
func TestFailOver(t *testing.T) {
	g := gomega.NewWithT(t)
	master, replica, m, r := pair(t)
	p := redistest.StartProxy(t, master.Addr())
	c := redis.NewClient(redistest.Options(p.Addr()))
	defer func() { _ = c.Close() }()
	h, other := listening(t, c), listening(t, c)
	h.forget()
	other.forget()
	g.Expect(subscribers(t, m)).To(gomega.Equal(2))

	must(t, r.Do(t.Context(), "REPLICAOF", "NO", "ONE").Err())
	p.Retarget(replica.Addr())
	follow(t, m, replica)
	took := await(t, 10*time.Second, "gaps", func() bool { return len(h.gaps()) > 0 && len(other.gaps()) > 0 })
	t.Logf("gaps %s after the fail-over", took)
	g.Expect(took).To(gomega.BeNumerically("<", 3*time.Second), "long before a fresh connection is tried")
	g.Expect(h.gaps()[0].Restarted).To(gomega.BeTrue())
	g.Expect(other.gaps()[0].Restarted).To(gomega.BeTrue())
	await(t, 5*time.Second, "subscriptions moved", func() bool {
		return subscribers(t, r) == 2 && subscribers(t, m) == 0
	})
	await(t, 5*time.Second, "healthy", h.listener.Healthy)
	g.Expect(flags(t, r)).To(gomega.ContainSubstring("x"), "flags are not replicated")
	must(t, r.Set(t.Context(), "session:there", "{}", 0).Err())
	await(t, 5*time.Second, "event", func() bool {
		return slices.Contains(h.all(), redisevents.Event(redisevents.SessionTouched{ID: "there"}))
	})
}

// The address leads to another master, and the old one knows of nothing: only a
// fresh connection can tell.
func TestAddressMoves(t *testing.T) {
	g := gomega.NewWithT(t)
	a, b := redistest.StartServer(t), redistest.StartServer(t)
	p := redistest.StartProxy(t, a.Addr())
	c := redis.NewClient(redistest.Options(p.Addr()))
	defer func() { _ = c.Close() }()
	var h *heard
	var told atomic.Int32
	h = listening(t, c, func(cfg *redisevents.Config) {
		cfg.FlagCheck = time.Second
		cfg.Moved = func() {
			told.Add(1)
			g.Expect(h.gaps()).To(gomega.BeEmpty(), "who hears of the gap must find the new server")
		}
	})
	h.forget()
	p.Retarget(b.Addr())
	await(t, 10*time.Second, "gap", func() bool { return len(h.gaps()) > 0 })
	g.Expect(h.gaps()[0].Restarted).To(gomega.BeTrue())
	g.Expect(told.Load()).To(gomega.Equal(int32(1)))
	direct := b.Client()
	defer func() { _ = direct.Close() }()
	g.Expect(subscribers(t, direct)).To(gomega.Equal(1))
}

// Mode off subscribes to nothing and still sees another server.
func TestOff(t *testing.T) {
	g := gomega.NewWithT(t)
	s, c, h := started(t, func(cfg *redisevents.Config) {
		cfg.Mode, cfg.Identify = redisevents.Off, 100*time.Millisecond
	})
	g.Expect(h.listener.Healthy()).To(gomega.BeFalse())
	g.Expect(flags(t, c)).To(gomega.BeEmpty())
	g.Expect(subscribers(t, c)).To(gomega.Equal(0))
	time.Sleep(500 * time.Millisecond) // the identity is read once
	g.Expect(h.gaps()).To(gomega.HaveLen(1))
	s.Kill()
	must(t, s.Start())
	await(t, 10*time.Second, "gap", func() bool { return len(h.gaps()) == 2 })
	g.Expect(h.gaps()[1].Restarted).To(gomega.BeTrue())
}

// Redis is away at the start: nothing is announced until it is there.
func TestLateServer(t *testing.T) {
	g := gomega.NewWithT(t)
	s := redistest.StartServer(t)
	s.Kill()
	c := s.Client()
	defer func() { _ = c.Close() }()
	h := listen(c, func(cfg *redisevents.Config) { cfg.Mode = redisevents.Require })
	defer func() { g.Expect(h.close()).To(gomega.Succeed()) }()
	await(t, 5*time.Second, "loss", func() bool { return len(h.noted("lost")) > 0 })
	g.Expect(h.gaps()).To(gomega.BeEmpty())
	must(t, s.Start())
	await(t, 10*time.Second, "gap", func() bool { return len(h.gaps()) == 1 })
	g.Expect(h.gaps()[0].Restarted).To(gomega.BeFalse())
	g.Expect(h.gaps()[0].Reason).To(gomega.Equal("start"))
}

// Each master of a cluster announces only its own keys.
func TestCluster(t *testing.T) {
	g := gomega.NewWithT(t)
	cluster := redistest.StartCluster(t)
	c := cluster.Client()
	defer func() { _ = c.Close() }()
	h := listening(t, c)
	await(t, 10*time.Second, "all masters", func() bool {
		s := h.listener.Status()
		return s.Servers == 3 && s.Healthy
	})
	want := map[redisevents.Event]bool{}
	for i := range 60 {
		id := string(rune('a'+i%26)) + strings.Repeat("x", i/26)
		must(t, c.Set(t.Context(), keys().Session(id), "{}", 0).Err())
		want[redisevents.SessionTouched{ID: id}] = true
	}
	await(t, 5*time.Second, "all events", func() bool { return len(h.all()) >= len(want) })
	for _, e := range h.all() {
		g.Expect(want).To(gomega.HaveKey(e))
	}
	// A master that restarts is another one, and only it.
	h.forget()
	cluster.Nodes[1].Kill()
	must(t, cluster.Nodes[1].Start())
	await(t, 15*time.Second, "gap", func() bool { return len(h.gaps()) > 0 })
	g.Expect(h.gaps()[0].Restarted).To(gomega.BeTrue())
}

// What the other masters announce is heard while one hangs, and what it announces itself
// when it goes on.
func TestAMasterOfAClusterThatHangsSilencesItsOwnEventsAlone(t *testing.T) {
	g := gomega.NewWithT(t)
	cluster := redistest.StartCluster(t)
	for _, n := range cluster.Nodes {
		node := n.Client()
		must(t, node.ConfigSet(t.Context(), "cluster-require-full-coverage", "no").Err())
		must(t, node.ConfigSet(t.Context(), "cluster-node-timeout", "60000").Err())
		must(t, node.Close())
	}
	c := cluster.Client()
	defer func() { _ = c.Close() }()
	h := listening(t, c)
	await(t, 10*time.Second, "all masters", func() bool {
		s := h.listener.Status()
		return s.Servers == 3 && s.Healthy
	})
	victim := cluster.Nodes[2]
	time.Sleep(100 * time.Millisecond) // the Gap of the last one follows its report
	h.forget()
	victim.Pause()
	defer victim.Continue()
	heard := func(id string) {
		t.Helper()
		await(t, time.Second, "event", func() bool {
			return slices.Contains(h.all(), redisevents.Event(redisevents.SessionTouched{ID: id}))
		})
	}
	begun, elsewhere := time.Now(), ""
	for i := 0; time.Since(begun) < 6*time.Second; i++ {
		id := "h" + strconv.Itoa(i)
		master, err := c.MasterForKey(t.Context(), keys().Session(id))
		must(t, err)
		if master.Options().Addr == victim.Addr() {
			elsewhere = id
			continue
		}
		must(t, c.Set(t.Context(), keys().Session(id), "{}", 0).Err())
		heard(id)
		time.Sleep(50 * time.Millisecond)
	}
	g.Expect(h.gaps()).To(gomega.BeEmpty())
	victim.Continue()
	await(t, 10*time.Second, "the master answers", func() bool {
		return c.Set(t.Context(), keys().Session(elsewhere), "{}", 0).Err() == nil
	})
	heard(elsewhere)
	g.Expect(h.listener.Healthy()).To(gomega.BeTrue())
}

// Only the first start may refuse: a replica that was promoted since, under an address
// of its own, has its flags missing like a server that restarted without them.
func TestAPromotedReplicaThatRefusesEndsNothing(t *testing.T) {
	g := gomega.NewWithT(t)
	cluster := redistest.StartCluster(t)
	cluster.Replicate(t)
	c := cluster.Client()
	defer func() { _ = c.Close() }()
	h := listening(t, c, func(cfg *redisevents.Config) {
		cfg.Mode, cfg.FlagCheck = redisevents.Require, time.Second
	})
	await(t, 10*time.Second, "all masters", func() bool {
		s := h.listener.Status()
		return s.Servers == 3 && s.Healthy
	})
	h.forget()
	promoted := cluster.Replicas[0].Client()
	defer func() { _ = promoted.Close() }()
	must(t, promoted.Do(t.Context(), "ACL", "SETUSER", "default", "-config").Err())
	must(t, promoted.Do(t.Context(), "CLUSTER", "FAILOVER", "TAKEOVER").Err())
	await(t, 15*time.Second, "report", func() bool { return len(h.noted("disabled")) > 0 || len(h.done) > 0 })
	g.Expect(h.done).To(gomega.BeEmpty(), "Run goes on")
	g.Expect(h.noted("disabled")).To(gomega.ConsistOf(gomega.ContainSubstring("NOPERM")))
	g.Expect(h.listener.Healthy()).To(gomega.BeFalse())
	await(t, 5*time.Second, "gap of another server", func() bool {
		return slices.ContainsFunc(h.gaps(), func(g redisevents.Gap) bool { return g.Restarted })
	})

	// As soon as it may, all is well.
	must(t, promoted.Do(t.Context(), "ACL", "SETUSER", "default", "+config").Err())
	await(t, 15*time.Second, "healthy", h.listener.Healthy)
}

// A cluster whose masters refuse at the start is no start, whichever of them it is.
func TestAMasterThatRefusesAtTheStart(t *testing.T) {
	g := gomega.NewWithT(t)
	cluster := redistest.StartCluster(t)
	admin := cluster.Nodes[2].Client()
	defer func() { _ = admin.Close() }()
	must(t, admin.Do(t.Context(), "ACL", "SETUSER", "default", "-config").Err())
	c := cluster.Client()
	defer func() { _ = c.Close() }()
	strict := listen(c, func(cfg *redisevents.Config) { cfg.Mode = redisevents.Require })
	g.Eventually(strict.done, 10*time.Second).Should(gomega.Receive(gomega.MatchError(gomega.ContainSubstring("NOPERM"))))
	strict.stop()
}
