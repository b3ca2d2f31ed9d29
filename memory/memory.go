package memory

import (
	"context"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

const (
	// room is how much garbage there may be, most and least percent of the live heap aside.
	room        = 48 << 20
	mostPercent = 100
	// leastPercent costs a node of 100,000 sessions a collection in some ten seconds.
	leastPercent = 30

	// fills is the part of the live heap by which one that fills up has grown in a pace.
	fills = 16

	// pace is how often the heap is looked at: a start that fills it takes seconds.
	pace = time.Second
)

// Percent is by how much a heap may grow of which so many bytes are live, and before were
// a while ago. One that fills up is not at rest: a start would be spent collecting.
func Percent(live, before uint64) int {
	if live == 0 || live > before+before/fills {
		return mostPercent
	}
	return int(min(mostPercent, max(leastPercent, room*100/live)))
}

// Tend sets the percentage as the heap grows and shrinks, until ctx ends.
func Tend(ctx context.Context) {
	ticks := time.NewTicker(pace)
	defer ticks.Stop()
	heap := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	for percent, before := mostPercent, uint64(0); ; {
		metrics.Read(heap)
		live := heap[0].Value.Uint64()
		// Each setting stops the world for a moment: not for a small change.
		p := Percent(live, before)
		before = live
		if p < percent*9/10 || p > percent*11/10 || p != percent && (p == mostPercent || p == leastPercent) {
			percent = p
			debug.SetGCPercent(percent)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
		}
	}
}
