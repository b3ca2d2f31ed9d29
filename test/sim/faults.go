package sim

import (
	"context"
	"time"

	"leasehold/internal/nodetest"
)

// fault is one kind of trouble. It returns how to end it, nil if it is over.
type fault struct {
	name string
	do   func(w *world) (end func())
}

// faults are all kinds, each as likely as the others.
func faults() []fault {
	link := func(name string, do func(m *nodetest.Member)) fault {
		return fault{name, func(w *world) func() {
			if len(w.nodes) == 0 {
				return nil
			}
			m := w.nodes[w.rnd.IntN(len(w.nodes))]
			w.note("%s %s", name, m.Name)
			do(m)
			return m.Link.Heal
		}}
	}
	return []fault{
		link("cut", func(m *nodetest.Member) { m.Link.Cut() }),
		link("freeze link", func(m *nodetest.Member) { m.Link.Freeze() }),
		link("deafen", func(m *nodetest.Member) { m.Link.Deafen() }),
		link("drop", func(m *nodetest.Member) { m.Link.Drop() }),
		link("lose replies", func(m *nodetest.Member) { m.Link.LoseReplies(3) }),
		{"kill", func(w *world) func() {
			if len(w.nodes) < 2 {
				return nil
			}
			i := w.rnd.IntN(len(w.nodes))
			w.note("kill %s", w.nodes[i].Name)
			w.nodes[i].Kill()
			w.nodes = append(w.nodes[:i], w.nodes[i+1:]...)
			return nil
		}},
		{"drain", func(w *world) func() {
			if len(w.nodes) < 2 {
				return nil
			}
			i := w.rnd.IntN(len(w.nodes))
			w.note("drain %s", w.nodes[i].Name)
			_ = w.nodes[i].Drain()
			w.nodes = append(w.nodes[:i], w.nodes[i+1:]...)
			return nil
		}},
		{"join", func(w *world) func() {
			if len(w.nodes) < 7 {
				w.join()
			}
			return nil
		}},
		{"error replies", func(w *world) func() {
			texts := []string{
				"OOM command not allowed", "MISCONF Redis is configured to save", "BUSY Redis is busy",
				"LOADING Redis is loading", "READONLY You can't write", "NOPERM no permissions", "ERR unknown",
			}
			text := texts[w.rnd.IntN(len(texts))]
			w.note("error replies %s", text)
			w.fleet.Mini.SetError(text)
			return func() { w.fleet.Mini.SetError("") }
		}},
		{"restart empty", func(w *world) func() {
			w.note("restart empty")
			w.restart()
			return nil
		}},
		{"flush", func(w *world) func() {
			w.note("flush")
			w.fleet.Client.FlushAll(context.Background())
			w.putAll()
			return nil
		}},
		{"all keys end", func(w *world) func() {
			w.note("all keys end")
			for _, pattern := range []string{"poll:lease:*", "poll:node:*"} {
				for _, key := range w.keys(pattern) {
					w.fleet.Client.PExpire(context.Background(), key, time.Millisecond)
				}
			}
			return nil
		}},
		{"delete a lease", func(w *world) func() {
			if keys := w.keys("poll:lease:*"); len(keys) > 0 {
				key := keys[w.rnd.IntN(len(keys))]
				w.note("delete %s", key)
				w.fleet.Client.Del(context.Background(), key)
			}
			return nil
		}},
		{"persist a lease", func(w *world) func() {
			if keys := w.keys("poll:lease:*"); len(keys) > 0 {
				key := keys[w.rnd.IntN(len(keys))]
				w.note("persist %s", key)
				w.fleet.Client.Persist(context.Background(), key)
			}
			return nil
		}},
		{"forge", func(w *world) func() {
			w.note("forge")
			for _, key := range w.keys("poll:lease:*") {
				w.fleet.Client.Publish(context.Background(), "__keyevent@0__:expired", key)
			}
			return nil
		}},
		{"flags gone", func(w *world) func() {
			w.note("flags gone")
			w.fleet.Client.ConfigSet(context.Background(), "notify-keyspace-events", "")
			return nil
		}},
		{"script flush", func(w *world) func() {
			w.note("script flush")
			w.fleet.Client.ScriptFlush(context.Background())
			return nil
		}},
		{"add", func(w *world) func() {
			if len(w.docs) < 40 {
				w.add()
				w.note("add d%d", w.made)
			}
			return nil
		}},
		{"remove", func(w *world) func() {
			if id, _ := w.someDoc(); id != "" && len(w.docs) > 5 {
				w.note("remove %s", id)
				delete(w.docs, id)
				w.fleet.Remove(id)
			}
			return nil
		}},
		{"edit", func(w *world) func() {
			if id, d := w.someDoc(); id != "" {
				d.interval = time.Duration(1+w.rnd.IntN(4)) * time.Second
				d.paused, d.broken = w.rnd.IntN(4) == 0, w.rnd.IntN(6) == 0
				w.note("edit %s %+v", id, d)
				w.put(id, d)
			}
			return nil
		}},
		{"slow target", func(w *world) func() {
			if id, _ := w.someDoc(); id != "" {
				b := nodetest.Behavior{Delay: time.Duration(w.rnd.IntN(8000)) * time.Millisecond, Fail: w.rnd.IntN(3) == 0, Panic: w.rnd.IntN(8) == 0}
				w.note("target of %s: %+v", id, b)
				w.fleet.Target.Set(id, b)
				return func() { w.fleet.Target.Set(id, nodetest.Behavior{}) }
			}
			return nil
		}},
	}
}
