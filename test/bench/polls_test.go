package bench

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

const (
	hotSessions = 2000
	hotInterval = 100 * time.Millisecond
	hotFor      = 10 * time.Second
	concurrency = 256 // the default of LEASEHOLD_POLL_CONCURRENCY
)

// polls compares a node at its limit with a loop that only polls, and then measures how
// late polls begin at half of what the node can do.
func polls(t *testing.T, r *report) {
	t.Helper()
	const rate = "polls, 2,000 sessions each 100 ms, one node"
	f := newFleet(t, 0)
	f.target.idle = true
	f.put(hotSessions, hotInterval)
	f.start(1)
	n := f.nodes[0]
	until(t, time.Minute, "all sessions are leased", func() bool {
		return n.metric(t, "leases_owned", "") == hotSessions
	})
	time.Sleep(3 * time.Second)

	begun, polled := time.Now(), f.target.count()
	calls, node, server := n.metric(t, "redis_call_seconds_count", ""), cpu(t, n.cmd.Process.Pid), f.busy()
	time.Sleep(hotFor)
	took := seconds(time.Since(begun))
	done := float64(f.target.count() - polled)
	calls = n.metric(t, "redis_call_seconds_count", "") - calls
	t.Logf("the node took %.2f cores, Redis %.2f", seconds(cpu(t, n.cmd.Process.Pid)-node)/took, seconds(f.busy()-server)/took)
	n.signal(9)
	n.exit(t)
	bare := bareLoop(t, f.stand, f.target)
	r.ours(t, rate, "a second", done/took, nil)
	r.peer(t, "a net/http loop", rate, "a second", bare)
	r.ours(t, "polls: rate by that of the loop", "", done/took/bare, atLeast(0.8))
	r.ours(t, "polls: round trips to Redis per 20 polls", "", calls/done*20, atMost(2))
	delayAt(t, r, done/took/2)
}

// bareLoop is how many requests a second a process makes that does nothing else.
func bareLoop(t *testing.T, s *stand, to *target) float64 {
	t.Helper()
	p := launchPeer(t, "loop", s, concurrency, "BENCH_URL="+to.url("x"))
	time.Sleep(time.Second)
	begun, before := time.Now(), to.count()
	time.Sleep(hotFor)
	rate := float64(to.count()-before) / seconds(time.Since(begun))
	p.signal(9)
	p.exit(t)
	return rate
}

// delayAt measures how late polls begin at so many a second: right after a start, in which
// all sessions were polled in one burst, and when they have moved apart.
func delayAt(t *testing.T, r *report, rate float64) {
	t.Helper()
	f := newFleet(t, 0)
	f.target.idle = true
	interval := time.Duration(math.Round(hotSessions/rate*1000)) * time.Millisecond
	f.put(hotSessions, max(interval, hotInterval))
	f.start(1)
	n := f.nodes[0]
	until(t, time.Minute, "all sessions are polled", func() bool {
		return n.metric(t, "polls_total", `"success"`) >= hotSessions
	})
	time.Sleep(3 * time.Second)
	const what = "polls at half that rate: start behind the slot"
	first := delaysIn(t, n, hotFor)
	r.ours(t, what+", of the first, p50", "ms", inHistogram(first, 0.5)*1000, nil)
	r.ours(t, what+", of the first, p99", "ms", inHistogram(first, 0.99)*1000, nil)
	// A slot moves by a fiftieth of the interval, and has at most all of it to go.
	time.Sleep(50 * max(interval, hotInterval))
	then := delaysIn(t, n, hotFor)
	r.ours(t, what+", p50", "ms", inHistogram(then, 0.5)*1000, nil)
	r.ours(t, what+", p99", "ms", inHistogram(then, 0.99)*1000, atMost(20))
}

// delaysIn is what becomes of delays in a while.
func delaysIn(t *testing.T, n *process, d time.Duration) map[float64]float64 {
	t.Helper()
	before := delays(t, n)
	time.Sleep(d)
	after := delays(t, n)
	for le := range after {
		after[le] -= before[le]
	}
	return after
}

// delays reads the buckets of the node's poll delays by their upper bounds.
func delays(t *testing.T, n *process) map[float64]float64 {
	t.Helper()
	buckets := map[float64]float64{}
	for _, line := range n.metrics(t) {
		rest, ok := strings.CutPrefix(line, `leasehold_poll_delay_seconds_bucket{le="`)
		if !ok {
			continue
		}
		bound, count, _ := strings.Cut(rest, `"} `)
		le, err1 := strconv.ParseFloat(bound, 64)
		v, err2 := strconv.ParseFloat(count, 64)
		if err1 != nil || err2 != nil {
			t.Fatalf("bucket %q", line)
		}
		buckets[le] = v
	}
	return buckets
}

// inHistogram is the quantile in a histogram of cumulated buckets, as Prometheus has it.
func inHistogram(buckets map[float64]float64, q float64) float64 {
	bounds := make([]float64, 0, len(buckets))
	for le := range buckets {
		bounds = append(bounds, le)
	}
	slices.Sort(bounds)
	if len(bounds) == 0 {
		return math.NaN()
	}
	rank := q * buckets[bounds[len(bounds)-1]]
	low, below := 0.0, 0.0
	for _, le := range bounds {
		if buckets[le] >= rank {
			if math.IsInf(le, 1) || buckets[le] == below {
				return low
			}
			return low + (le-low)*(rank-below)/(buckets[le]-below)
		}
		low, below = le, buckets[le]
	}
	return low
}

// size is that of the program.
func size(t *testing.T, r *report) {
	t.Helper()
	stripped := t.TempDir() + "/leasehold"
	if err := build(stripped, "-s -w"); err != nil {
		t.Fatal(err)
	}
	r.ours(t, "the program, stripped", "MB", fileSize(t, stripped)/1e6, atMost(20))
	f := newFleet(t, 0)
	f.start(1)
	time.Sleep(3 * time.Second)
	r.ours(t, "RSS of a node without sessions", "MB", rss(t, f.nodes[0].cmd.Process.Pid)/1e6, atMost(25))
}
