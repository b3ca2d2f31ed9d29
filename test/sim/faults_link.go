package sim

import (
	"math/rand/v2"

	"leasehold/internal/nodetest"
)

// linkKinds are troubles between one node and Redis. A node's link has one mode, so
// the end of one trouble is the end of all that its link has.
func linkKinds() []kind {
	on := func(name string, weight int, do func(m *nodetest.Member, f Fault)) kind {
		return kind{name, weight, nil, func(w *world, f Fault) (string, func()) {
			m := w.node(f)
			if m == nil {
				return "", nil
			}
			do(m, f)
			return m.Name, m.Link.Heal
		}}
	}
	replies := on("replies lost", 2, func(m *nodetest.Member, f Fault) { m.Link.LoseReplies(f.Count) })
	replies.draw = func(rnd *rand.Rand, _ Timings, f *Fault) { f.Count = 1 + rnd.IntN(5) }
	return []kind{
		on("link cut", 2, func(m *nodetest.Member, _ Fault) { m.Link.Cut() }),
		on("link half open", 2, func(m *nodetest.Member, _ Fault) { m.Link.Freeze() }),
		on("link deaf", 2, func(m *nodetest.Member, _ Fault) { m.Link.Deafen() }),
		on("connections killed", 1, func(m *nodetest.Member, _ Fault) { m.Link.Drop() }),
		replies,
	}
}
