package bench

import (
	"fmt"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/cespare/xxhash/v2"
	"github.com/dgryski/go-rendezvous"

	"leasehold/planner"
)

func names(format string, n int) []planner.Name {
	list := make([]planner.Name, n)
	for i := range list {
		list[i] = planner.NewName(fmt.Sprintf(format, i))
	}
	return list
}

// timed is the median time of several calls, and the allocations of one.
func timed(f func()) (ms, allocs float64) {
	var took []float64
	var before, after runtime.MemStats
	for range 7 {
		runtime.GC()
		runtime.ReadMemStats(&before)
		begun := time.Now()
		f()
		took = append(took, millis(time.Since(begun)))
		runtime.ReadMemStats(&after)
	}
	return quantile(took, 0.5), float64(after.Mallocs - before.Mallocs)
}

func plan(t *testing.T, r *report) {
	t.Helper()
	const count, peers = 100_000, 100
	sessions, nodes := names("session-%d", count), names("node-%d", peers+1)
	var present []int32
	ms, allocs := timed(func() { present = planner.Assign(planner.View{Nodes: nodes[:peers], Sessions: sessions}) })
	what := "plan of 100,000 sessions on 100 nodes, "
	r.ours(t, what+"from nothing", "ms", ms, atMost(100))
	r.ours(t, what+"allocations a session", "", allocs/count, atMost(2))
	r.peer(t, "rendezvous hashing (go-rendezvous), loads not even", what+"from nothing", "ms", rendezvousTime(count, peers))
	ms, _ = timed(func() { planner.Assign(planner.View{Nodes: nodes, Sessions: sessions, Present: present}) })
	r.ours(t, what+"one more joins", "ms", ms, atMost(40))
}

// rendezvousTime is how long it takes to look each session up, with the library's own hash.
func rendezvousTime(sessions, nodes int) float64 {
	names, keys := make([]string, nodes), make([]string, sessions)
	for i := range names {
		names[i] = fmt.Sprintf("node-%d", i)
	}
	for i := range keys {
		keys[i] = fmt.Sprintf("session-%d", i)
	}
	ring := rendezvous.New(names, xxhash.Sum64String)
	ms, _ := timed(func() {
		for _, key := range keys {
			ring.Lookup(key)
		}
	})
	return ms
}

// planMillion plans what no test machine can run.
func planMillion(t *testing.T, r *report) {
	t.Helper()
	const count, peers = 1_000_000, 1000
	sessions, nodes := names("session-%d", count), names("node-%d", peers+1)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	begun := time.Now()
	owners := planner.Assign(planner.View{Nodes: nodes[:peers], Sessions: sessions})
	first := seconds(time.Since(begun))
	runtime.ReadMemStats(&after)
	begun = time.Now()
	joined := planner.Assign(planner.View{Nodes: nodes, Sessions: sessions, Present: owners})
	second := seconds(time.Since(begun))
	moved, loads := 0, make([]int, peers+1)
	for i, owner := range joined {
		loads[owner]++
		if owners[i] != owner {
			moved++
		}
	}
	what := "plan of 1,000,000 sessions on 1,000 nodes, "
	r.ours(t, what+"from nothing", "s", first, nil)
	r.ours(t, what+"one more joins", "s", second, nil)
	r.ours(t, what+"moves of a join by the least possible", "", float64(moved)/float64(count/(peers+1)), atMost(1.3))
	r.ours(t, what+"bytes allocated a session", "B", float64(after.TotalAlloc-before.TotalAlloc)/count, nil)
}

func fileSize(t *testing.T, path string) float64 {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return float64(info.Size())
}
