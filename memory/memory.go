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
	// leastPercent costs a node of 100,000 sessions a collection in some five seconds.
	leastPercent = 15

	// fills is the part of the live heap by which one that fills up has grown in a pace.
	fills = 16

	// pace is how often the heap is looked at: a start that fills it takes seconds.
	pace = time.Second

	// calm is for how many paces a heap that filled up must have stood still.
	calm = 10
)

// Percent is by how much a heap may grow of which so many bytes are live, and before were
// a while ago. One that fills up is not at rest: a start would be spent collecting.
func Percent(live, before uint64) int {
	if live == 0 || live > before+before/fills {
		return mostPercent
	}
	return int(min(mostPercent, max(leastPercent, room*100/live)))
}

// filling tells when a heap that filled up is full.
type filling struct {
	most  uint64 // that was live so far, to within a part of fills
	paces int    // since then; 0: it was told of
}

// full reports, once for each new height, that a heap has filled up and stood still since. One
// that goes up and down, as by what is under way, does so once.
func (f *filling) full(live uint64) bool {
	switch {
	case live > f.most+f.most/fills:
		f.most, f.paces = live, 1
	case f.paces > 0:
		f.paces++
	}
	if f.paces <= calm {
		return false
	}
	f.paces = 0
	return true
}

// Tend sets the percentage as the heap grows and shrinks, until ctx ends. What a heap that
// filled up needed on the way, it gives back to the system.
func Tend(ctx context.Context) { tend(ctx, debug.FreeOSMemory) }

func tend(ctx context.Context, giveBack func()) {
	ticks := time.NewTicker(pace)
	defer ticks.Stop()
	heap := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	var fill filling
	for percent, before := mostPercent, uint64(0); ; {
		metrics.Read(heap)
		live := heap[0].Value.Uint64()
		if fill.full(live) && live >= room {
			giveBack()
		}
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
