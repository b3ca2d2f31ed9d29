package bench

import (
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// cold starts one node on sessions that nobody has.
func cold(sessions int, limit float64) func(*testing.T, *report) {
	return func(t *testing.T, r *report) {
		t.Helper()
		f := newFleet(t, 0)
		f.put(sessions, 10*time.Minute)
		n := f.begin()
		n.await(t)
		first, last := time.Time{}, time.Time{}
		for _, at := range f.watch.first(t, n.started, "set", f.leases(), time.Minute) {
			if first.IsZero() || at.Before(first) {
				first = at
			}
			if at.After(last) {
				last = at
			}
		}
		what := fmt.Sprintf("cold start, %s sessions on one node: ", grouped(sessions))
		r.ours(t, what+"process started → all leased", "s", seconds(last.Sub(n.started)), atMost(limit))
		r.ours(t, what+"first lease → last", "s", seconds(last.Sub(first)), nil)
		r.peer(t, "a pipeline of SET NX", what+"first lease → last", "s", plainPipeline(f.stand, sessions))
	}
}

// plainPipeline takes as many keys by nothing but SET NX, in seconds.
func plainPipeline(s *stand, n int) float64 {
	begun := time.Now()
	s.pipe(n, func(p redis.Pipeliner, i int) {
		p.SetNX(s.t.Context(), fmt.Sprintf("plain:%d", i), "me", 30*time.Second)
	})
	return seconds(time.Since(begun))
}

// coldFive starts five nodes at once.
func coldFive(t *testing.T, r *report) {
	t.Helper()
	const sessions = 10_000
	f := newFleet(t, 0)
	f.put(sessions, 10*time.Minute)
	f.start(5)
	started := f.nodes[0].started
	taken := f.watch.first(t, started, "set", f.leases(), time.Minute)
	last := started
	for _, at := range taken {
		if at.After(last) {
			last = at
		}
	}
	f.settled()
	calls := 0.0
	for _, n := range f.nodes {
		calls += n.metric(t, "lease_acquisitions_total", "")
	}
	r.ours(t, "cold start of five nodes at once, 10,000 sessions: acquisitions tried a session", "", calls/sessions, atMost(1.1))
	r.ours(t, "cold start of five nodes at once: started → all leased", "s", seconds(last.Sub(started)), nil)
}
