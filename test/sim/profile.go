package sim

import (
	"math/rand/v2"
	"time"
)

// The profiles: how many events an hour of a fleet holds differs by the factor
// that TTL and intervals differ by, so a long hour costs no more than a short one.
const (
	dense  = "dense"
	normal = "normal"
	sparse = "sparse"
)

func profiles() []string { return []string{dense, normal, sparse} }

// seconds is a whole number of seconds between low and high.
func seconds(rnd *rand.Rand, low, high int) Span {
	return Span(time.Duration(low+rnd.IntN(high-low+1)) * time.Second)
}

// drawTimings draws settings that the program would accept.
func drawTimings(rnd *rand.Rand, profile string) Timings {
	t := Timings{Profile: profile}
	switch profile {
	case dense:
		t.LeaseTTL = seconds(rnd, 5, 8)
		t.Shortest, t.Longest = seconds(rnd, 1, 2), seconds(rnd, 3, 15)
		t.Reconcile = seconds(rnd, 3, 10)
		t.Canary, t.Sweep = Span(500*time.Millisecond), Span(2*time.Second)
	case normal:
		t.LeaseTTL = seconds(rnd, 20, 45)
		t.Shortest, t.Longest = seconds(rnd, 5, 15), seconds(rnd, 30, 90)
		t.Reconcile = seconds(rnd, 5, 20)
		t.Canary, t.Sweep = Span(2*time.Second), Span(10*time.Second)
	default:
		t.LeaseTTL = seconds(rnd, 60, 240)
		t.Shortest, t.Longest = seconds(rnd, 120, 360), seconds(rnd, 600, 2400)
		t.Reconcile = seconds(rnd, 60, 240)
		t.Canary, t.Sweep = Span(20*time.Second), Span(60*time.Second)
	}
	t.RenewInterval = t.LeaseTTL / Span(2+rnd.IntN(3))
	t.Margin = t.LeaseTTL / 15
	t.HeartbeatTTL, t.HeartbeatInterval = t.LeaseTTL, t.RenewInterval
	switch rnd.IntN(8) { // leases and heartbeats need not go together
	case 0:
		t.HeartbeatTTL, t.HeartbeatInterval = 2*t.HeartbeatTTL, 2*t.HeartbeatInterval
	case 1:
		t.HeartbeatTTL, t.HeartbeatInterval = t.HeartbeatTTL/2, t.HeartbeatInterval/2
	}
	if rnd.IntN(4) == 0 { // what hits a fleet then, hits it between two steps
		u := rnd.Float64()
		t.Latency = Span(200*time.Microsecond) + Span(u*u*float64(30*time.Millisecond))
	}
	slack := t.LeaseTTL - t.RenewInterval - t.Margin
	t.Timeout = min(Span(2*time.Second), t.LeaseTTL/4, t.HeartbeatTTL/4, slack/2)
	return t
}

// settle is how long after the last trouble a fleet may need until everything is
// leased, balanced and polled in its rhythm again: a hold-off after a restart, the
// scans of all nodes in turn, fallbacks that wait for one to eight scans, a
// back-off; then two intervals.
func (t Timings) settle() Span {
	ttl := max(t.LeaseTTL, t.HeartbeatTTL)
	return 3*ttl + 4*t.Reconcile + Span(15*time.Second)
}
