package sim

import (
	"math/rand/v2"
	"strconv"
	"time"

	"leasehold/internal/nodetest"
)

// linkKinds are troubles between one node and Redis. A link is in one state, so the
// end of one trouble ends what another has put on top of it.
func linkKinds() []kind {
	heal := func(_ *world, m *nodetest.Member) { m.Link.Heal() }
	return []kind{
		onLink("link cut", 2, nil, func(m *nodetest.Member, _ Fault) { m.Link.Cut() }, heal),
		onLink("link half open", 2, nil, func(m *nodetest.Member, _ Fault) { m.Link.Freeze() }, heal),
		onLink("link deaf", 2, nil, func(m *nodetest.Member, _ Fault) { m.Link.Deafen() }, heal),
		onLink("link mute", 2, nil, func(m *nodetest.Member, _ Fault) { m.Link.Mute() }, heal),
		onLink("link slow", 2, slowness, func(m *nodetest.Member, f Fault) { slow(m, f.By, f.Which) }, (*world).usualPace),
		onLink("subscription deaf", 2, nil, func(m *nodetest.Member, _ Fault) { m.Link.DeafSubscription() }, nil),
		onLink("connections killed", 1, handful, func(m *nodetest.Member, f Fault) {
			m.Link.KillConnections(f.Count, rand.New(rand.NewPCG(uint64(f.Which), 1)))
		}, nil),
		onLink("replies lost", 2, handful, func(m *nodetest.Member, f Fault) { m.Link.LoseReplies(f.Count) },
			func(_ *world, m *nodetest.Member) { m.Link.LoseReplies(0) }),
	}
}

func handful(rnd *rand.Rand, _ Timings, f *Fault) { f.Count = 1 + rnd.IntN(5) }

// slowness is mostly short of what a command may take.
func slowness(rnd *rand.Rand, t Timings, f *Fault) {
	u := rnd.Float64()
	f.By = (Span(time.Millisecond) + Span(u*u*u*1.5*float64(t.Timeout))).round()
}

func slow(m *nodetest.Member, by Span, seed uint32) {
	m.Link.Delay(by.D(), by.D()/2, rand.New(rand.NewPCG(uint64(seed), 2)))
}

// usualPace gives a link the latency that all have in this world.
func (w *world) usualPace(m *nodetest.Member) {
	if by := w.scenario.Timings.Latency; by > 0 {
		slow(m, by, uint32(len(w.fleet.Members())))
		return
	}
	m.Link.Delay(0, 0, nil)
}

func onLink(
	name string, weight int, draw func(*rand.Rand, Timings, *Fault),
	do func(m *nodetest.Member, f Fault), undo func(w *world, m *nodetest.Member),
) kind {
	return kind{name, weight, draw, func(w *world, f Fault) (string, func()) {
		m := w.node(f)
		if m == nil {
			return "", nil
		}
		do(m, f)
		if undo == nil {
			return m.Name, nil
		}
		return m.Name, func() { undo(w, m) }
	}}
}

// eventKinds are troubles with what Redis announces.
func eventKinds() []kind {
	fate := func(name string, weight int, of func(rnd *rand.Rand, by time.Duration) []time.Duration) kind {
		return kind{name, weight, lateness, func(w *world, f Fault) (string, func()) {
			rnd := rand.New(rand.NewPCG(uint64(f.Which), 3))
			often := 1 + rnd.IntN(100)
			w.fleet.Events.Disturb(func(string, string) []time.Duration {
				if rnd.IntN(100) >= often {
					return []time.Duration{0}
				}
				return of(rnd, f.By.D())
			})
			return strconv.Itoa(often) + "%", func() { w.fleet.Events.Disturb(nil) }
		}}
	}
	return []kind{
		fate("events lost", 2, func(*rand.Rand, time.Duration) []time.Duration { return nil }),
		fate("events repeated", 1, func(rnd *rand.Rand, by time.Duration) []time.Duration {
			return []time.Duration{0, time.Duration(rnd.Int64N(int64(by))), by}
		}),
		fate("events late", 2, func(rnd *rand.Rand, by time.Duration) []time.Duration {
			return []time.Duration{time.Duration(rnd.Int64N(int64(by)))}
		}),
	}
}

func lateness(rnd *rand.Rand, t Timings, f *Fault) {
	f.By = between(rnd, Span(10*time.Millisecond), t.LeaseTTL)
}
