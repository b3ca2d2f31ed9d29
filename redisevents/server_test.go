package redisevents_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/onsi/gomega"
	"github.com/redis/go-redis/v9"

	"leasehold/internal/redistest"
	"leasehold/redisevents"
)

// started runs a server, a client and a listener that is subscribed.
func started(t *testing.T, change ...func(*redisevents.Config)) (*redistest.Server, *redis.Client, *heard) {
	t.Helper()
	s := redistest.StartServer(t)
	c := s.Client()
	t.Cleanup(func() { _ = c.Close() })
	return s, c, listening(t, c, change...)
}

func listening(t *testing.T, c redis.UniversalClient, change ...func(*redisevents.Config)) *heard {
	t.Helper()
	h := listen(c, change...)
	t.Cleanup(func() {
		if err := h.close(); err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	await(t, 5*time.Second, "first gap", func() bool { return len(h.gaps()) > 0 })
	return h
}

// flags reads the server's flags as a set of characters, "A" spelled out.
func flags(t *testing.T, c *redis.Client) string {
	t.Helper()
	all, err := c.ConfigGet(t.Context(), "notify-keyspace-events").Result()
	must(t, err)
	return strings.ReplaceAll(all["notify-keyspace-events"], "A", "g$lshzxetd")
}

func TestFlagsOfOthersAreKept(t *testing.T) {
	g := gomega.NewWithT(t)
	s := redistest.StartServer(t, "--notify-keyspace-events", "Khlm")
	c := s.Client()
	defer func() { _ = c.Close() }()
	h := listening(t, c)
	for _, f := range "KhlmEgx$e" {
		g.Expect(flags(t, c)).To(gomega.ContainSubstring(string(f)))
	}
	g.Expect(h.listener.Healthy()).To(gomega.BeTrue())
	g.Expect(h.noted("subscribed")).To(gomega.HaveLen(1))
}

func TestFlagsTakenAwayAreSetAgain(t *testing.T) {
	g := gomega.NewWithT(t)
	_, c, h := started(t, func(cfg *redisevents.Config) { cfg.FlagCheck = 200 * time.Millisecond })
	h.forget()
	must(t, c.ConfigSet(t.Context(), "notify-keyspace-events", "").Err())
	await(t, 5*time.Second, "gap", func() bool { return len(h.gaps()) == 1 })
	g.Expect(h.gaps()[0].Restarted).To(gomega.BeFalse())
	must(t, c.Set(t.Context(), "session:after", "{}", 0).Err())
	await(t, 5*time.Second, "event", func() bool {
		return slices.Contains(h.all(), redisevents.Event(redisevents.SessionTouched{ID: "after"}))
	})
}

// C01: after a restart on the same port the flags are back within 10 s, and the
// gap says that the server is another one.
func TestRestart(t *testing.T) {
	g := gomega.NewWithT(t)
	s, c, h := started(t)
	h.forget()
	s.Kill()
	await(t, 5*time.Second, "loss reported", func() bool { return len(h.noted("lost")) == 1 })
	time.Sleep(time.Second)
	must(t, s.Start())
	took := await(t, 10*time.Second, "gap", func() bool { return len(h.gaps()) > 0 })
	t.Logf("gap %s after the server was back", took)
	for _, f := range "KEgx$e" {
		g.Expect(flags(t, c)).To(gomega.ContainSubstring(string(f)))
	}
	g.Expect(h.gaps()).To(gomega.HaveLen(1))
	g.Expect(h.gaps()[0].Restarted).To(gomega.BeTrue())
	g.Expect(h.gaps()[0].Server).NotTo(gomega.BeEmpty())
	g.Expect(h.noted("lost")).To(gomega.HaveLen(1), "one outage, one line")
	must(t, c.Set(t.Context(), "poll:lease:s1", "x", 20*time.Millisecond).Err())
	await(t, 5*time.Second, "expiry", func() bool {
		_ = c.Exists(t.Context(), "poll:lease:s1")
		return slices.Contains(h.all(), redisevents.Event(redisevents.LeaseFreed{Session: "s1", Cause: redisevents.Expired}))
	})
}

// C03: events of another database never reach us, in both directions.
func TestOtherDatabases(t *testing.T) {
	for _, dbs := range [][2]int{{0, 3}, {2, 0}, {1, 11}} {
		t.Run(fmt.Sprintf("ours %d, noise in %d", dbs[0], dbs[1]), func(t *testing.T) {
			g := gomega.NewWithT(t)
			s := redistest.StartServer(t)
			ours := s.Client(func(o *redis.Options) { o.DB = dbs[0] })
			noise := s.Client(func(o *redis.Options) { o.DB = dbs[1] })
			defer func() { _, _ = ours.Close(), noise.Close() }()
			h := listening(t, ours, func(c *redisevents.Config) { c.DB = dbs[0] })
			ctx := t.Context()
			for _, key := range []string{"poll:lease:s1", "poll:node:a", "session:s1"} {
				must(t, noise.Set(ctx, key, "x", 0).Err())
				must(t, noise.Del(ctx, key).Err())
				must(t, noise.Set(ctx, key, "x", time.Millisecond).Err())
				time.Sleep(5 * time.Millisecond)
				must(t, noise.Exists(ctx, key).Err())
			}
			must(t, ours.Set(ctx, "session:last", "{}", 0).Err())
			await(t, 5*time.Second, "our event", func() bool { return len(h.all()) > 0 })
			g.Expect(h.all()).To(gomega.ConsistOf(redisevents.SessionTouched{ID: "last"}))
		})
	}
}

func TestKilledSubscriptionIsReplaced(t *testing.T) {
	g := gomega.NewWithT(t)
	_, c, h := started(t)
	h.forget()
	must(t, c.ClientKillByFilter(t.Context(), "TYPE", "pubsub").Err())
	took := await(t, 5*time.Second, "gap", func() bool { return len(h.gaps()) > 0 })
	t.Logf("gap %s after the kill", took)
	g.Expect(h.gaps()[0].Restarted).To(gomega.BeFalse())
	must(t, c.Set(t.Context(), "session:s1", "{}", 0).Err())
	await(t, 5*time.Second, "event", func() bool { return len(h.all()) > 0 })
	g.Expect(h.noted("lost connection_lost")).To(gomega.HaveLen(1))
}

// A frozen server loses nothing: no churn while it is frozen, and what it held
// back arrives.
func TestFrozenServer(t *testing.T) {
	g := gomega.NewWithT(t)
	s, c, h := started(t)
	must(t, c.Set(t.Context(), "poll:lease:s1", "x", 300*time.Millisecond).Err())
	h.forget()
	s.Pause()
	time.Sleep(4 * time.Second)
	g.Expect(h.noted("")).To(gomega.BeEmpty(), "while nothing answers, nothing is replaced")
	s.Continue()
	await(t, 5*time.Second, "expiry", func() bool {
		_ = c.Exists(t.Context(), "poll:lease:s1")
		return slices.Contains(h.all(), redisevents.Event(redisevents.LeaseFreed{Session: "s1", Cause: redisevents.Expired}))
	})
}

func TestNoChannelRights(t *testing.T) {
	g := gomega.NewWithT(t)
	s := redistest.StartServer(t)
	admin := s.Client()
	defer func() { _ = admin.Close() }()
	must(t, admin.Do(t.Context(), "ACL", "SETUSER", "poor", "on", ">pw", "~*", "+@all", "resetchannels").Err())
	c := s.Client(func(o *redis.Options) { o.Username, o.Password = "poor", "pw" })
	defer func() { _ = c.Close() }()
	h := listening(t, c, func(cfg *redisevents.Config) { cfg.Refused = 300 * time.Millisecond })
	await(t, 5*time.Second, "report", func() bool { return len(h.noted("disabled")) > 0 })
	g.Expect(h.noted("disabled")[0]).To(gomega.ContainSubstring("NOPERM"))
	g.Expect(h.listener.Healthy()).To(gomega.BeFalse())
	time.Sleep(time.Second)
	g.Expect(h.noted("disabled")).To(gomega.HaveLen(1), "said once, though tried again")
	// As soon as the rights are there, all is well.
	must(t, admin.Do(t.Context(), "ACL", "SETUSER", "poor", "allchannels").Err())
	await(t, 5*time.Second, "healthy", h.listener.Healthy)

	must(t, admin.Do(t.Context(), "ACL", "SETUSER", "poor", "resetchannels").Err())
	strict := listen(c, func(cfg *redisevents.Config) { cfg.Mode = redisevents.Require })
	g.Eventually(strict.done, 5*time.Second).Should(gomega.Receive(gomega.MatchError(gomega.ContainSubstring("NOPERM"))))
	strict.stop()
}

// CONFIG refused, as managed services do: hints still arrive, and nobody claims
// that they can be relied on.
func TestConfigRefused(t *testing.T) {
	g := gomega.NewWithT(t)
	s := redistest.StartServer(t, "--notify-keyspace-events", "KEA")
	admin := s.Client()
	defer func() { _ = admin.Close() }()
	must(t, admin.Do(t.Context(), "ACL", "SETUSER", "poor", "on", ">pw", "~*", "&*", "+@all", "-config").Err())
	c := s.Client(func(o *redis.Options) { o.Username, o.Password = "poor", "pw" })
	defer func() { _ = c.Close() }()
	h := listening(t, c, func(cfg *redisevents.Config) { cfg.FlagCheck = 100 * time.Millisecond })
	g.Expect(h.listener.Healthy()).To(gomega.BeFalse())
	must(t, admin.Set(t.Context(), "session:s1", "{}", 0).Err())
	await(t, 5*time.Second, "hint", func() bool { return len(h.all()) > 0 })
	time.Sleep(500 * time.Millisecond)
	g.Expect(h.noted("disabled")).To(gomega.HaveLen(1))
	g.Expect(h.gaps()).To(gomega.HaveLen(1))

	strict := listen(c, func(cfg *redisevents.Config) { cfg.Mode = redisevents.Require })
	g.Eventually(strict.done, 5*time.Second).Should(gomega.Receive(gomega.MatchError(gomega.ContainSubstring("NOPERM"))))
	strict.stop()
}

func TestForgedMessages(t *testing.T) {
	g := gomega.NewWithT(t)
	_, c, h := started(t)
	h.forget()
	ctx := t.Context()
	for _, m := range [][2]string{
		{"__keyevent@0__:expired", ""},
		{"__keyevent@0__:expired", "session"},
		{"__keyevent@0__:expired", strings.Repeat("x", 1<<20)},
		{"__keyevent@x__:expired", "poll:lease:s1"},
		{"__keyevent@__:expired", "poll:lease:s1"},
		{"__keyevent@00__:expired", "poll:lease:s1"},
		{"__keyspace@0__:session:", ""},
		{"__keyspace@0__:poll:node:a", "\x00\xff"},
		{"__keyevent@0__:del", "poll:lease:forged"},
	} {
		must(t, c.Publish(ctx, m[0], m[1]).Err())
	}
	await(t, 5*time.Second, "the hint that looks real", func() bool { return len(h.all()) > 0 })
	g.Expect(h.all()).To(gomega.ConsistOf(redisevents.LeaseFreed{Session: "forged", Cause: redisevents.Deleted}))
}

// A reader that is slow loses single events, but never the news that it did.
func TestOverflow(t *testing.T) {
	g := gomega.NewWithT(t)
	s := redistest.StartServer(t)
	c := s.Client()
	defer func() { _ = c.Close() }()
	l := redisevents.New(redisevents.Config{Client: c, MaxQueue: 100, Keys: keys()})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- l.Run(ctx) }()
	await(t, 5*time.Second, "healthy", l.Healthy)
	g.Expect(l.Take()).To(gomega.HaveLen(1))
	pipe := c.Pipeline()
	for i := range 1000 {
		pipe.Set(ctx, fmt.Sprintf("session:%d", i), "{}", 0)
	}
	_, err := pipe.Exec(ctx)
	must(t, err)
	await(t, 5*time.Second, "overflow", func() bool { return l.Status().Queued > 0 })
	time.Sleep(300 * time.Millisecond)
	taken := l.Take()
	g.Expect(len(taken)).To(gomega.BeNumerically("<=", 101))
	g.Expect(taken[0]).To(gomega.BeAssignableToTypeOf(redisevents.Gap{}))
	g.Expect(slices.ContainsFunc(taken[1:], isGap)).To(gomega.BeFalse())
	cancel()
	g.Expect(<-done).To(gomega.Succeed())
}

// A password that is asked for and is not any more: what was refused meanwhile is had
// again at once, and not after the pause for what is refused for good.
func TestPasswordComesAndGoes(t *testing.T) {
	_, c, h := started(t)
	admin := c.Conn()
	defer func() { _ = admin.Close() }()
	must(t, admin.ConfigSet(t.Context(), "requirepass", "rotated").Err())
	h.forget()
	must(t, admin.Do(t.Context(), "CLIENT", "KILL", "TYPE", "pubsub").Err())
	must(t, admin.Do(t.Context(), "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes").Err())
	await(t, 5*time.Second, "loss", func() bool { return !h.listener.Healthy() })
	time.Sleep(time.Second) // it tries in vain
	must(t, admin.ConfigSet(t.Context(), "requirepass", "").Err())
	took := await(t, 5*time.Second, "healthy", h.listener.Healthy)
	t.Logf("healthy %s after the password was taken back", took)
	await(t, time.Second, "gap", func() bool { return len(h.gaps()) > 0 })
}
