package redisstore_test

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
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

// These are replies that only a real server gives.
var _ = Describe("a store on a server that answers with errors", func() {
	ctx := context.Background()
	slot := lease.Slot{Interval: time.Second, Bound: time.Second}
	start := func(args ...string) (*redis.Client, *redisstore.Store, lease.Grant) {
		server := redistest.StartServer(GinkgoTB(), args...)
		c, err := redisstore.Open(server.URL(), redisstore.OpenOptions{})
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(c.Close)
		s := redisstore.New(c, rediskey.Default(), redisstore.Options{})
		o := s.Acquire(ctx, "n1", claims(1))[0]
		Expect(o.Granted).To(BeTrue())
		admin := server.Client()
		DeferCleanup(admin.Close)
		return admin, s, lease.Grant{Session: "s0", Holder: "n1", Token: o.Token}
	}
	unknown := func(err error) {
		GinkgoHelper()
		Expect(err).To(HaveOccurred())
		Expect(err).NotTo(Or(MatchError(lease.ErrLost), MatchError(lease.ErrForeign)))
	}

	It("renews under OOM, with a poll in flight too, and takes nothing new", func() {
		admin, s, grant := start()
		_, err := s.Begin(ctx, grant, slot)
		Expect(err).NotTo(HaveOccurred())
		Expect(admin.ConfigSet(ctx, "maxmemory", "1").Err()).To(Succeed())
		o := s.Acquire(ctx, "n1", []lease.Claim{{Session: "new", TTL: time.Minute}})[0]
		unknown(o.Err)
		Expect(o.Granted).To(BeFalse())
		Expect(admin.Exists(ctx, rediskey.Default().Lease("new"), rediskey.Default().State("new")).Val()).To(BeZero())
		Expect(s.Renew(ctx, leasetest.Renewals(time.Minute, grant))[0].Err).NotTo(HaveOccurred())
		Expect(admin.PTTL(ctx, rediskey.Default().Lease("s0")).Val()).To(BeNumerically(">", 50*time.Second))
		Expect(s.Release(ctx, []lease.Release{{Grant: grant}})[0]).To(Succeed())
	})

	It("knows nothing while a script blocks the server, and goes on afterwards", func() {
		admin, s, grant := start("--busy-reply-threshold", "100")
		go func() { _ = admin.Eval(ctx, "while true do end", nil).Err() }()
		Eventually(func() error { return admin.Ping(ctx).Err() }, "5s").Should(MatchError(HavePrefix("BUSY")))
		unknown(s.Renew(ctx, leasetest.Renewals(time.Minute, grant))[0].Err)
		_, err := s.Begin(ctx, grant, slot)
		unknown(err)
		Eventually(func() error { return admin.ScriptKill(ctx).Err() }, "5s").Should(Succeed())
		Eventually(func() error { return s.Renew(ctx, leasetest.Renewals(time.Minute, grant))[0].Err }, "5s").Should(Succeed())
	})

	It("names the server that granted a lease, and grants all the same where that is not told", func() {
		admin, s, _ := start()
		claim := func() lease.Outcome {
			return s.Acquire(ctx, "n1", []lease.Claim{{Session: "new", TTL: time.Minute}})[0]
		}
		o := claim()
		Expect(o.Granted).To(BeTrue())
		Expect(o.Server).To(HaveLen(40))
		Expect(admin.Info(ctx, "server").Val()).To(ContainSubstring("run_id:" + o.Server + "\r\n"))
		Expect(admin.Do(ctx, "ACL", "SETUSER", "default", "-info").Err()).To(Succeed())
		o = claim()
		Expect(o.Granted).To(BeTrue())
		Expect(o.Err).NotTo(HaveOccurred())
		Expect(o.Server).To(BeEmpty())
	})

	It("knows nothing without the right to a key", func() {
		admin, s, grant := start()
		Expect(admin.Do(ctx, "ACL", "SETUSER", "default", "resetkeys", "~poll:lease:*").Err()).To(Succeed())
		unknown(s.Renew(ctx, leasetest.Renewals(time.Minute, grant))[0].Err)
		unknown(s.Acquire(ctx, "n2", claims(1))[0].Err)
		unknown(s.Release(ctx, []lease.Release{{Grant: grant}})[0])
		Expect(admin.Do(ctx, "ACL", "SETUSER", "default", "allkeys").Err()).To(Succeed())
		Expect(s.Renew(ctx, leasetest.Renewals(time.Minute, grant))[0].Err).NotTo(HaveOccurred())
	})
})

var _ = Describe("a script", func() {
	It("says in its header what it takes, returns and keeps, and uses no more than that", func() {
		files, err := filepath.Glob("scripts/*.lua")
		Expect(err).NotTo(HaveOccurred())
		Expect(files).To(HaveLen(10))
		for _, file := range files {
			text, err := os.ReadFile(file)
			Expect(err).NotTo(HaveOccurred())
			header, body, _ := strings.Cut(string(text), "\nlocal ")
			name := strings.TrimSuffix(filepath.Base(file), ".lua")
			Expect(header).To(HavePrefix("-- "+name+" "), file)
			for _, part := range []string{"-- KEYS  ", "-- ARGV  ", "-- Returns", "-- Invariant: "} {
				Expect(header).To(ContainSubstring("\n"+part), file)
			}
			for _, used := range regexp.MustCompile(`(?:ARGV|KEYS)(\[\d+\])`).FindAllStringSubmatch(body, -1) {
				Expect(header).To(ContainSubstring(used[1]), "%s uses %s", file, used[0])
			}
		}
	})
})
