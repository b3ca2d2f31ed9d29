package leasetest_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"

	"leasehold/internal/redistest"
	"leasehold/lease"
	"leasehold/lease/leasetest"
	"leasehold/rediskey"
	"leasehold/redisstore"
)

func flaky(t *testing.T, body func(t *testing.T, g Gomega, f *leasetest.Flaky, s *redisstore.Store)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		m := redistest.NewMini()
		defer m.Close()
		c := m.Client()
		defer func() { _ = c.Close() }()
		s := redisstore.New(c, rediskey.Default(), redisstore.Options{})
		body(t, NewWithT(t), leasetest.NewFlaky(s, s), s)
	})
}

func TestFlakyFaults(t *testing.T) {
	flaky(t, func(t *testing.T, g Gomega, f *leasetest.Flaky, s *redisstore.Store) {
		t.Helper()
		claims := []lease.Claim{{Session: "s", TTL: time.Minute}}
		holder := func() string { return s.Look(t.Context(), []string{"s"})[0].Holder }
		f.Next(leasetest.OpAcquire, leasetest.Fail, leasetest.Hang, leasetest.LoseReply, leasetest.Pass)

		g.Expect(f.Acquire(t.Context(), "n1", claims)[0].Err).To(MatchError(leasetest.ErrFlaky))
		g.Expect(holder()).To(BeEmpty())

		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		start := time.Now()
		g.Expect(f.Acquire(ctx, "n1", claims)[0].Err).To(MatchError(context.DeadlineExceeded))
		g.Expect(time.Since(start)).To(Equal(3 * time.Second))
		g.Expect(holder()).To(BeEmpty())

		g.Expect(f.Acquire(t.Context(), "n1", claims)[0].Err).To(MatchError(leasetest.ErrFlaky))
		g.Expect(holder()).To(Equal("n1"))

		o := f.Acquire(t.Context(), "n1", claims)[0]
		g.Expect(o.Already).To(BeTrue())
		g.Expect(f.Calls(leasetest.OpAcquire)).To(Equal(4))

		grant := lease.Grant{Session: "s", Holder: "n1", Token: o.Token}
		f.Always(leasetest.Fail)
		g.Expect(f.Renew(t.Context(), leasetest.Renewals(time.Minute, grant))[0].Err).To(MatchError(leasetest.ErrFlaky))
		g.Expect(f.Look(t.Context(), []string{"s"})[0].Err).To(MatchError(leasetest.ErrFlaky))
		_, err := f.Begin(t.Context(), grant, lease.Slot{Interval: time.Second, Bound: time.Second})
		g.Expect(err).To(MatchError(leasetest.ErrFlaky))
		g.Expect(f.Finish(t.Context(), grant, lease.Result{})).To(MatchError(leasetest.ErrFlaky))
		f.Always(leasetest.Pass)
		g.Expect(f.Renew(t.Context(), leasetest.Renewals(time.Minute, grant))[0].Err).NotTo(HaveOccurred())

		f.Next(leasetest.OpRelease, leasetest.LateReply)
		late, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		g.Expect(f.Release(late, []lease.Release{{Grant: grant}})[0]).To(MatchError(context.DeadlineExceeded))
		g.Expect(holder()).To(BeEmpty())
	})
}

func TestFlakyDelay(t *testing.T) {
	flaky(t, func(t *testing.T, g Gomega, f *leasetest.Flaky, _ *redisstore.Store) {
		t.Helper()
		f.Delay(500 * time.Millisecond)
		start := time.Now()
		g.Expect(f.Look(t.Context(), []string{"s"})[0].Err).NotTo(HaveOccurred())
		g.Expect(time.Since(start)).To(Equal(500 * time.Millisecond))
	})
}
