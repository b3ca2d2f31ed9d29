package sim

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"leasehold/internal/nodetest"
	"leasehold/lease"
)

// most is the largest fleet.
const most = 7

// replaced draws whether a node that goes comes back under a new name, as an
// orchestrator would see to.
func replaced(rnd *rand.Rand, _ Timings, f *Fault) {
	if rnd.IntN(4) == 0 {
		f.Lasts = 0
	}
}

// nodeKinds are troubles of a node's process and machine.
func nodeKinds() []kind {
	return []kind{
		{"join", 2, nil, func(w *world, _ Fault) (string, func()) {
			if len(w.nodes) >= most {
				return "", nil
			}
			return w.join().Name, nil
		}},
		{"kill", 3, replaced, going(func(_ *world, m *nodetest.Member) { m.Kill() })},
		{"vanish", 2, replaced, going(func(_ *world, m *nodetest.Member) { m.Vanish() })},
		{"drain", 3, replaced, going(func(w *world, m *nodetest.Member) { w.drain(m) })},
		{"freeze", 4, nil, func(w *world, f Fault) (string, func()) {
			m := w.node(f)
			if m == nil || w.frozen(m) { // one thaw is enough to wake it
				return "", nil
			}
			m.Freeze()
			return m.Name, m.Thaw
		}},
		{"cordon", 2, nil, func(w *world, f Fault) (string, func()) {
			m := w.node(f)
			if m == nil {
				return "", nil
			}
			key, word := cordons+m.Name, []lease.Cordon{lease.Cordoned, lease.Drained}[f.Which/16%2]
			w.client().Set(context.Background(), key, string(word), lease.CordonTTL)
			return m.Name, func() { w.client().Del(context.Background(), key) }
		}},
		{"wall clock", 2, jump, func(w *world, f Fault) (string, func()) {
			m := w.node(f)
			if m == nil {
				return "", nil
			}
			m.JumpWall(f.By.D())
			if f.Lasts == 0 {
				return m.Name, nil
			}
			return m.Name, func() { m.JumpWall(-f.By.D()) }
		}},
	}
}

// frozen reports whether a node stands still.
func (w *world) frozen(m *nodetest.Member) bool {
	return slices.ContainsFunc(w.applied, func(a applied) bool {
		return a.Kind == "freeze" && a.Hit == m.Name && a.Ended.IsZero()
	})
}

// jump draws a step of the wall clock: small, large, either way.
func jump(rnd *rand.Rand, t Timings, f *Fault) {
	f.By = between(rnd, t.LeaseTTL/10, 3*t.LeaseTTL)
	if rnd.IntN(4) == 0 {
		f.By *= 1000
	}
	if rnd.IntN(2) == 0 {
		f.By = -f.By
	}
	if rnd.IntN(2) == 0 {
		f.Lasts = 0
	}
}

// going lets a node go, and a new one come at the end of the fault.
func going(how func(*world, *nodetest.Member)) func(*world, Fault) (string, func()) {
	return func(w *world, f Fault) (string, func()) {
		m := w.node(f)
		if m == nil || (f.Lasts == 0 && w.few()) {
			return "", nil
		}
		w.leave(m)
		how(w, m)
		if f.Lasts == 0 {
			return m.Name, nil
		}
		return m.Name, func() {
			if len(w.nodes) < most {
				w.join()
			}
		}
	}
}

// drain asks a node to stop and does not wait for it.
func (w *world) drain(m *nodetest.Member) {
	d := &drain{Member: m, Asked: time.Now(), Done: make(chan struct{})}
	w.drains = append(w.drains, d)
	go func() {
		defer close(d.Done)
		_ = m.Drain() // what is left, the judge sees
	}()
}
