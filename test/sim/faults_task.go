package sim

import (
	"context"

	"leasehold/redisstore"
)

// taskKinds are what people want of tasks.
func taskKinds() []kind {
	return []kind{{"run now", 3, nil, func(w *world, f Fault) (string, func()) {
		var tasks []*document
		for _, d := range w.docs {
			if d.isTask() && d.polled() {
				tasks = append(tasks, d)
			}
		}
		if len(tasks) == 0 {
			return "", nil
		}
		d := tasks[int(f.Which%uint32(len(tasks)))]
		w.ask(d.ID)
		return d.ID, nil
	}}}
}

// ask wants a task run now, by the call that the API makes of it.
func (w *world) ask(id string) {
	w.byHand(func(ctx context.Context, store *redisstore.Store) { _ = store.Ask(ctx, id) })
}
