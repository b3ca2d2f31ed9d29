package sim

import (
	"context"
	"math/rand/v2"
)

// redisKinds are troubles of the server.
func redisKinds() []kind {
	return []kind{
		{"restart empty", 1, nil, func(w *world, _ Fault) (string, func()) {
			w.fleet.Events.Restart()
			w.putAll()
			return "redis", nil
		}},
		{"flush", 1, nil, func(w *world, _ Fault) (string, func()) {
			w.fleet.Client.FlushAll(context.Background())
			w.putAll()
			return "redis", nil
		}},
		{"error replies", 2, errorText, func(w *world, f Fault) (string, func()) {
			w.fleet.Mini.SetError(f.Text)
			return "redis", func() { w.fleet.Mini.SetError("") }
		}},
		{"flags gone", 1, nil, func(w *world, _ Fault) (string, func()) {
			w.fleet.Client.ConfigSet(context.Background(), "notify-keyspace-events", "")
			return "redis", nil
		}},
		{"scripts gone", 1, nil, func(w *world, _ Fault) (string, func()) {
			w.fleet.Client.ScriptFlush(context.Background())
			return "redis", nil
		}},
	}
}

func errorText(rnd *rand.Rand, _ Timings, f *Fault) {
	texts := []string{
		"OOM command not allowed when used memory > 'maxmemory'.",
		"MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk.",
		"BUSY Redis is busy running a script.",
		"LOADING Redis is loading the dataset in memory",
		"READONLY You can't write against a read only replica.",
		"NOPERM this user has no permissions to run this command",
	}
	f.Text = texts[rnd.IntN(len(texts))]
}
