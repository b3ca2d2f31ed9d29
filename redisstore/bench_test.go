package redisstore_test

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"leasehold/internal/redistest"
	"leasehold/lease"
	"leasehold/rediskey"
	"leasehold/redisstore"
)

// benchStore is a store on a real server with n leases taken.
func benchStore(b *testing.B, n int) (*redisstore.Store, []lease.Grant) {
	b.Helper()
	c, err := redisstore.Open(redistest.StartServer(b).URL(), redisstore.OpenOptions{})
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
	b.ResetTimer()
	return s, grants
}

func benchClaims(n, round int) []lease.Claim {
	claims := make([]lease.Claim, n)
	for i := range claims {
		claims[i] = lease.Claim{Session: fmt.Sprintf("session-%d-%06d", round, i), TTL: time.Hour}
	}
	return claims
}

func rate(b *testing.B, n int, what string) {
	b.Helper()
	b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), what+"/s")
}

func BenchmarkRenew(b *testing.B) {
	for _, n := range []int{1, 100, 10_000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			s, grants := benchStore(b, n)
			for b.Loop() {
				for _, v := range s.Renew(b.Context(), grants, time.Hour) {
					if v.Err != nil {
						b.Fatal(v.Err)
					}
				}
			}
			rate(b, n, "leases")
		})
	}
}

func BenchmarkAcquire(b *testing.B) {
	for _, n := range []int{1, 100, 10_000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			s, _ := benchStore(b, 1)
			for round := 1; b.Loop(); round++ {
				for _, o := range s.Acquire(b.Context(), "n1", benchClaims(n, round)) {
					if !o.Granted {
						b.Fatal(o)
					}
				}
			}
			rate(b, n, "leases")
		})
	}
}

func BenchmarkBeginFinish(b *testing.B) {
	for _, n := range []int{1, 20, 256} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			s, grants := benchStore(b, n)
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
			rate(b, n, "polls")
		})
	}
}
