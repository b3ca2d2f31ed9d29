package bench

import (
	"fmt"
	"strconv"
	"syscall"
	"testing"
	"time"
)

const (
	shortTTL   = 6 * time.Second
	defaultTTL = 30 * time.Second
	// calm is an interval at which polls don't weigh on what is measured.
	calm = time.Minute
)

// crash kills one of three nodes, which has so many leases of such a TTL. The deadlines of
// a dead node's leases are spread over a fiftieth of it.
func crash(leases int, ttl time.Duration) func(*testing.T, *report) {
	limit := map[int]float64{300: 10, 1000: 10, 3000: 50, 10_000: 150}[leases]
	return func(t *testing.T, r *report) {
		t.Helper()
		f := newFleet(t, ttl)
		f.fill()
		f.put(3*leases, calm)
		f.start(3)
		dead := f.nodes[0]
		lost := of(f.settled(), dead)

		died := time.Now()
		dead.signal(syscall.SIGKILL)
		deadlines := f.deadlines(lost)
		taken := f.watch.first(t, died, "set", lost, 2*ttl)
		late := lags(deadlines, taken)
		what := fmt.Sprintf("crash of a node with %s leases of %s, 100,000 other keys: deadline → acquired, ", grouped(leases), ttl)
		r.ours(t, what+"p50", "ms", quantile(late, 0.5), nil)
		r.ours(t, what+"p99", "ms", quantile(late, 0.99), atMost(limit))
	}
}

// stop ends one of three nodes, which has 1,000 leases.
func stop(t *testing.T, r *report) {
	t.Helper()
	const leases, interval = 1000, 4 * time.Second
	f := newFleet(t, 0)
	f.put(3*leases, interval)
	f.start(3)
	leaving := f.nodes[0]
	given := of(f.settled(), leaving)
	time.Sleep(interval)

	told := time.Now()
	leaving.signal(syscall.SIGTERM)
	taken := f.watch.first(t, told, "set", given, exitLimit)
	free := f.watch.first(t, told, "del", given, exitLimit)
	leaving.exit(t)
	time.Sleep(2 * interval)

	late := lags(free, taken)
	what := "graceful stop of a node with 1,000 leases: released → acquired, "
	r.ours(t, what+"p50", "ms", quantile(late, 0.5), atMost(5))
	r.ours(t, what+"p99", "ms", quantile(late, 0.99), atMost(50))
	r.ours(t, "graceful stop: SIGTERM → the process has ended", "s", seconds(leaving.ended.Sub(told)), atMost(1))
	overlaps, missed := f.target.judge(told.Add(-interval), interval)
	r.ours(t, "graceful stop: slots missed, at 4 s", "", float64(missed), atMost(0))
	r.ours(t, "graceful stop: overlaps", "", float64(overlaps), atMost(0))
}

// join adds a fourth node to three with 10,000 sessions.
func join(t *testing.T, r *report) {
	t.Helper()
	const interval = 10 * time.Second
	f := newFleet(t, 0)
	f.put(10_000, interval)
	f.start(3)
	before := f.settled()
	time.Sleep(interval)

	f.begin()
	joined := f.nodes[3]
	joined.await(t)
	ready := time.Now()
	f.watch.first(t, ready.Add(-readyLimit), "set", []string{f.keys.Node(joined.id)}, readyLimit)
	until(t, time.Minute, "the four nodes share the sessions evenly", func() bool { return f.even(f.holders()) })
	time.Sleep(2 * interval)

	after, moved := f.holders(), 0
	for key, holder := range after {
		if before[key] != holder {
			moved++
		}
	}
	last := ready
	for _, c := range f.watch.since(ready, "set") {
		if _, lease := after[c.key]; lease {
			last = c.at
		}
	}
	r.ours(t, "join of a 4th node, 10,000 sessions: ready → settled", "s", seconds(last.Sub(ready)), atMost(3))
	r.ours(t, "join: moves by the least possible", "", float64(moved)/2500, atMost(1.3))
	overlaps, missed := f.target.judge(ready.Add(-interval), interval)
	r.ours(t, "join: slots missed, at 10 s", "", float64(missed), atMost(0))
	r.ours(t, "join: overlaps", "", float64(overlaps), atMost(0))
}

// alone is how far apart documents come that are no burst: see actors/membership.
const alone = 120 * time.Millisecond

// document adds documents to a fleet at work.
func document(t *testing.T, r *report) {
	t.Helper()
	const added = 100
	f := newFleet(t, 0)
	f.put(1000, 10*time.Second)
	f.start(3)
	f.settled()
	stored := map[string]time.Time{}
	for range added {
		id := fmt.Sprintf("session-%06d", len(f.sessions))
		stored[id] = time.Now()
		f.put(1, 10*time.Second)
		time.Sleep(alone)
	}
	ids := f.sessions[len(f.sessions)-added:]
	var polled map[string]time.Time
	until(t, 10*time.Second, "all new sessions are polled", func() bool {
		polled = f.target.firsts(ids)
		return len(polled) == added
	})
	late := lags(stored, polled)
	r.ours(t, "new document → first poll at the target, p50", "ms", quantile(late, 0.5), nil)
	r.ours(t, "new document → first poll at the target, p99", "ms", quantile(late, 0.99), atMost(20))
}

// grouped writes a number with commas.
func grouped(n int) string {
	if n < 1000 {
		return strconv.Itoa(n)
	}
	return fmt.Sprintf("%s,%03d", grouped(n/1000), n%1000)
}
