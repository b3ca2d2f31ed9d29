package schedule

import (
	"hash/fnv"
	"math"
	"time"
)

// tick is the granularity of the server's clock as the fleet keeps it.
const tick = time.Millisecond

// Bounds within which sums of two durations can't overflow.
const (
	maxDuration = time.Duration(math.MaxInt64)
	maxInterval = maxDuration / 4
)

// Offset returns the session's own place within the interval, counted on the grid
// of Unix time: stable for an ID, evenly spread over all IDs, whole milliseconds
// from zero to less than the interval.
func Offset(id string, interval time.Duration) time.Duration {
	h := fnv.New64a()
	_, _ = h.Write([]byte(id)) // never fails, says hash.Hash
	ticks := int64(whole(interval) / tick)

	return time.Duration(int64(mix(h.Sum64())>>1)%ticks) * tick
}

// mix is the finaliser of MurmurHash3 (Appleby). Without it, the hashes of names
// that differ at the end alone lie in a pattern.
func mix(h uint64) uint64 {
	h ^= h >> 33
	h *= 0xff51afd7ed558ccd
	h ^= h >> 33
	h *= 0xc4ceb9fe1a85ec53

	return h ^ h>>33
}

// untilPhase returns how long after at the session's phase comes next: from zero
// to less than the interval.
func untilPhase(id string, at time.Time, interval time.Duration) time.Duration {
	ticks := int64(interval / tick)
	place := at.UnixMilli() % ticks
	distance := (int64(Offset(id, interval)/tick) - place) % ticks
	if distance < 0 {
		distance += ticks
	}

	return time.Duration(distance) * tick
}

// whole rounds an interval up to whole milliseconds, at least one.
func whole(interval time.Duration) time.Duration {
	interval = min(max(interval, tick), maxInterval)

	return (interval + tick - 1).Truncate(tick)
}

// ceil rounds a time up to whole milliseconds.
func ceil(t time.Time) time.Time {
	down := t.Truncate(tick)
	if down.Equal(t) {
		return down
	}

	return down.Add(tick)
}
