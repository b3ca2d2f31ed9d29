package sim

import (
	"math/rand/v2"

	"leasehold/internal/nodetest"
)

// targetKinds are troubles with what is polled.
func targetKinds() []kind {
	longer := func(rnd *rand.Rand, t Timings, f *Fault) {
		f.By = between(rnd, t.LeaseTTL/10, 3*t.LeaseTTL)
	}
	return []kind{
		onTarget("target slow", 2, longer, func(f Fault) nodetest.Behavior { return nodetest.Behavior{Delay: f.By.D()} }),
		onTarget("target hung", 1, longer, func(f Fault) nodetest.Behavior { return nodetest.Behavior{Delay: f.By.D(), Deaf: true} }),
		onTarget("target fails", 2, nil, func(Fault) nodetest.Behavior { return nodetest.Behavior{Fail: true} }),
		onTarget("target panics", 1, nil, func(Fault) nodetest.Behavior { return nodetest.Behavior{Panic: true} }),
	}
}

func onTarget(name string, weight int, draw func(*rand.Rand, Timings, *Fault), b func(Fault) nodetest.Behavior) kind {
	return kind{name, weight, draw, func(w *world, f Fault) (string, func()) {
		d := w.document(f)
		if d == nil {
			return "", nil
		}
		w.fleet.Target.Set(d.ID, b(f))
		return d.ID, func() { w.fleet.Target.Set(d.ID, d.Usual) }
	}}
}
