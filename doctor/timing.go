package doctor

import (
	"context"
	"slices"
	"time"

	"leasehold/config"
)

// samples are enough for a 99th percentile that one hiccup does not make.
const samples = 200

func roundTrip(ctx context.Context, p *patient) []Finding {
	var took []time.Duration
	for range samples {
		began := time.Now()
		if err := p.rdb.Ping(ctx).Err(); err != nil && !denied(err) {
			return []Finding{unsafe("see the network, and what keeps Redis busy (SLOWLOG GET)",
				"one of %d questions was not answered: %v", samples, err)}
		}
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	p99, margin := took[samples*99/100], p.cfg.LeaseSafetyMargin
	const fix = "bring the nodes closer to Redis, see SLOWLOG GET, or use longer TTLs"
	switch {
	case p99 > margin:
		return []Finding{unsafe(fix, "p99 of a round trip %s, above the safety margin of %s", short(p99), margin)}
	case p99 > margin/4:
		return []Finding{warning(fix, "p99 of a round trip %s, more than a quarter of the safety margin of %s", short(p99), margin)}
	}
	return []Finding{fine("p99 of a round trip %s; the safety margin is %s", short(p99), margin)}
}

func short(d time.Duration) time.Duration { return d.Round(10 * time.Microsecond) }

// clock compares the clocks. Leases don't depend on that: Redis counts TTLs by its own
// clock, and nodes by a monotonic one.
func clock(ctx context.Context, p *patient) []Finding {
	before := time.Now()
	there, err := p.rdb.Time(ctx).Result()
	after := time.Now()
	if err != nil {
		return []Finding{unknown("", "the server does not tell its time: %v", err)}
	}
	offset := there.Sub(before.Add(after.Sub(before) / 2))
	if off := offset.Abs(); off > time.Second {
		return []Finding{warning("synchronize both clocks (NTP)",
			"Redis' clock is %s from this one: times in results and logs differ, and due times follow Redis'", offset.Round(time.Millisecond))}
	}
	return []Finding{fine("%s from this one", offset.Round(100*time.Microsecond))}
}

// settings are sound already, or they could not have been loaded; some have a price.
func settings(cfg config.Config) []Finding {
	var all []Finding
	for _, w := range cfg.Warnings() {
		all = append(all, warning("", "%s", w))
	}
	if len(all) == 0 {
		all = append(all, fine("a dead node's sessions are taken over within %s", cfg.LeaseTTL))
	}
	return all
}
