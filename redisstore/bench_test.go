package redisstore_test

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"leasehold/internal/redistest"
	"leasehold/lease"
	"leasehold/lease/leasetest"
	"leasehold/redisevents"
	"leasehold/redisinfo"
	"leasehold/rediskey"
	"leasehold/redisstore"
)

// benchStore is a store with n leases taken, on a real server that announces what nodes
// listen to.
func benchStore(b *testing.B, n int) (*redisstore.Store, []lease.Grant, *meter) {
	b.Helper()
	server := redistest.StartServer(b, "--notify-keyspace-events", redisevents.NeededFlags)
	c, err := redisstore.Open(server.URL(), redisstore.OpenOptions{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = c.Close() })
	s := redisstore.New(c, rediskey.Default(), redisstore.Options{Stream: stream})
	grants := make([]lease.Grant, n)
	for i, o := range s.Acquire(context.Background(), "n1", benchClaims(n, 0)) {
		if o.Err != nil {
			b.Fatal(o.Err)
		}
		grants[i] = lease.Grant{Session: o.Session, Holder: "n1", Token: o.Token}
	}
	m := &meter{client: c}
	m.start(b)
	return s, grants, m
}

// meter tells how long the server's main thread has worked while the benchmark's timer ran.
type meter struct {
	client       redis.UniversalClient
	since, spent float64 // seconds
}

func (m *meter) read(b *testing.B) float64 {
	b.Helper()
	text, err := m.client.Info(context.Background(), "cpu").Result()
	if err != nil {
		b.Fatal(err)
	}
	sum := 0.0
	for _, name := range []string{"used_cpu_sys_main_thread", "used_cpu_user_main_thread"} {
		seconds, err := strconv.ParseFloat(redisinfo.Field(text, name), 64)
		if err != nil {
			b.Fatal(err)
		}
		sum += seconds
	}
	return sum
}

func (m *meter) start(b *testing.B) {
	b.Helper()
	m.since = m.read(b)
	b.StartTimer()
}

func (m *meter) stop(b *testing.B) {
	b.Helper()
	b.StopTimer()
	m.spent += m.read(b) - m.since
}

// rate reports how many of n a second there were, and what the server worked for each.
func (m *meter) rate(b *testing.B, n int, what string) {
	b.Helper()
	m.stop(b)
	total := float64(n) * float64(b.N)
	b.ReportMetric(total/b.Elapsed().Seconds(), what+"s/s")
	b.ReportMetric(m.spent/total*1e6, "redis-µs/"+what)
}

func benchClaims(n, round int) []lease.Claim {
	claims := make([]lease.Claim, n)
	for i := range claims {
		claims[i] = lease.Claim{Session: fmt.Sprintf("session-%d-%06d", round, i), TTL: time.Hour}
	}
	return claims
}

func BenchmarkRenew(b *testing.B) {
	for _, n := range []int{1, 100, 10_000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			s, grants, m := benchStore(b, n)
			for b.Loop() {
				for _, v := range s.Renew(b.Context(), leasetest.Renewals(time.Hour, grants...)) {
					if v.Err != nil {
						b.Fatal(v.Err)
					}
				}
			}
			m.rate(b, n, "lease")
		})
	}
}

func BenchmarkAcquire(b *testing.B) {
	for _, n := range []int{1, 100, 10_000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			s, _, m := benchStore(b, 1)
			for round := 1; b.Loop(); round++ {
				for _, o := range s.Acquire(b.Context(), "n1", benchClaims(n, round)) {
					if !o.Granted {
						b.Fatal(o)
					}
				}
			}
			m.rate(b, n, "lease")
		})
	}
}

// BenchmarkTakeOver is what follows a dead node: leases that ran out, with their states.
func BenchmarkTakeOver(b *testing.B) {
	const n = 1000
	s, _, m := benchStore(b, 1)
	ctx := b.Context()
	claims := benchClaims(n, 0)
	for b.Loop() {
		m.stop(b)
		releases := make([]lease.Release, n)
		for i, o := range s.Acquire(ctx, "n1", claims) {
			releases[i] = lease.Release{Grant: lease.Grant{Session: o.Session, Holder: "n1", Token: o.Token}}
		}
		s.Release(ctx, releases)
		m.start(b)
		for _, o := range s.Acquire(ctx, "n1", claims) {
			if !o.Granted || o.Fresh {
				b.Fatal(o)
			}
		}
	}
	m.rate(b, n, "lease")
}

func BenchmarkBeginFinish(b *testing.B) {
	for _, n := range []int{1, 20, 256} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			s, grants, m := benchStore(b, n)
			slot := lease.Slot{Interval: time.Millisecond, Bound: time.Second}
			for b.Loop() {
				var wg sync.WaitGroup
				for _, g := range grants {
					wg.Go(func() {
						start, err := s.Begin(b.Context(), g, slot)
						if err == nil {
							err = s.Finish(b.Context(), g, lease.Result{Started: start.At, OK: true, Class: "success", Status: 200})
						}
						if err != nil {
							b.Error(err)
						}
					})
				}
				wg.Wait()
			}
			m.rate(b, n, "poll")
		})
	}
}
