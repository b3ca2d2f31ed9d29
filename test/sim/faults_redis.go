package sim

import (
	"context"
	"math/rand/v2"
	"time"
)

// How a server comes back.
const (
	sameServer = iota
	withData
	empty
	backs

	replica // of a fail-over, which is drawn apart
)

// redisKinds are troubles of the server.
func redisKinds() []kind {
	return []kind{
		{"redis down", 2, comeback, func(w *world, f Fault) (string, func()) {
			w.fleet.Mini.Down()
			return "redis", func() {
				w.comeBack(f.Count)
				w.fleet.Mini.Up()
			}
		}},
		{"redis hung", 2, nil, func(w *world, _ Fault) (string, func()) {
			w.fleet.Mini.Hang()
			return "redis", w.fleet.Mini.Up
		}},
		{"restart with data", 1, nil, func(w *world, _ Fault) (string, func()) {
			w.comeBack(withData)
			return "redis", nil
		}},
		{"restart empty", 1, nil, func(w *world, _ Fault) (string, func()) {
			w.comeBack(empty)
			return "redis", nil
		}},
		{"failover", 1, lag, failover},
		{"flush", 1, nil, func(w *world, _ Fault) (string, func()) {
			w.client().FlushAll(context.Background())
			w.restore()
			return "redis", nil
		}},
		{"errors", 4, refusals, refuse},
		{"flags gone", 1, nil, func(w *world, _ Fault) (string, func()) {
			w.client().ConfigSet(context.Background(), "notify-keyspace-events", "")
			return "redis", nil
		}},
		{"scripts gone", 1, nil, func(w *world, _ Fault) (string, func()) {
			w.client().ScriptFlush(context.Background())
			return "redis", nil
		}},
	}
}

func comeback(rnd *rand.Rand, _ Timings, f *Fault) { f.Count = rnd.IntN(backs) }

// comeBack has another server process answer, where how says so.
func (w *world) comeBack(how int) {
	w.back = how
	switch how {
	case withData:
		w.fleet.Events.Replace(0, w.fleet.Mini.Reload)
	case empty:
		w.fleet.Events.Replace(0, func() { w.fleet.Mini.Replace(nil) })
	}
	w.restore()
}

// lag is how long a replica has heard nothing of its master when it takes over.
func lag(rnd *rand.Rand, t Timings, f *Fault) {
	u := rnd.Float64()
	f.Lasts = (Span(10*time.Millisecond) + Span(u*u*float64(t.LeaseTTL/2))).round()
}

// replicaUptime is how long a replica has been up when it takes over.
const replicaUptime = 24 * time.Hour

// failover lets a replica take over, which has lost what came after the fault began.
func failover(w *world, _ Fault) (string, func()) {
	s := w.fleet.Mini.Snapshot()
	return "redis", func() {
		w.back = replica
		w.fleet.Events.Replace(replicaUptime, func() { w.fleet.Mini.Replace(s) })
		w.restore()
	}
}
