package sim

import (
	"math"
	"math/rand/v2"
	"time"
)

// Draw makes a scenario out of a seed: always the same one.
func Draw(seed uint64) Scenario {
	rnd := newRand(seed)
	return DrawAs(seed, profiles()[pick(rnd, []int{1, 2, 7})])
}

// DrawAs is Draw for one profile.
func DrawAs(seed uint64, profile string) Scenario {
	rnd := rand.New(rand.NewPCG(seed, 1))
	t := drawTimings(rnd, profile)
	s := Scenario{Seed: seed, Timings: t, Nodes: 3 + rnd.IntN(5), Sessions: skewed(rnd, 20, 200)}
	if profile == dense { // an hour of which is dear
		s.Sessions = 20 + s.Sessions/5
	}
	end := Span(0)
	quiet(&s, &end) // the start
	for range 1 + rnd.IntN(4) {
		storm(&s, rnd, &end)
		quiet(&s, &end)
		if rnd.IntN(2) == 0 { // one change of membership, or forged events, and nothing else
			kind := []string{"join", "drain", "kill", "events forged"}[rnd.IntN(4)]
			s.Faults = append(s.Faults, Fault{At: end, Kind: kind, Which: rnd.Uint32() &^ 3, Count: 50}) // expired, and of many
			quiet(&s, &end)
		}
	}
	s.Length = end
	return s
}

// quiet appends a calm.
func quiet(s *Scenario, end *Span) {
	calm := Calm{At: *end + 1, Until: *end + s.Timings.settle() + 2*s.Timings.Longest}
	s.Calms = append(s.Calms, calm)
	*end = calm.Until + Span(time.Second)
}

// storm appends faults that overlap.
func storm(s *Scenario, rnd *rand.Rand, end *Span) {
	ttl := s.Timings.LeaseTTL
	length := between(rnd, 2*ttl, 20*ttl)
	kinds := kinds()
	weights := swarm(rnd, kinds)
	at := *end
	// Some storms are dense, others single faults far apart.
	gap := between(rnd, ttl/10, 2*ttl)
	for at < *end+length {
		k := kinds[pick(rnd, weights)]
		f := Fault{At: at, Kind: k.name, Which: rnd.Uint32(), Lasts: lasting(rnd, ttl)}
		if k.draw != nil {
			k.draw(rnd, s.Timings, &f)
		}
		s.Faults = append(s.Faults, f)
		at += Span(rnd.ExpFloat64() * float64(gap))
	}
	*end = max(at, *end+length)
}

// swarm draws the weights of the kinds of one storm, in which half of them don't occur:
// what makes a fault bite is often that others stay away, and a kind that is added does
// not thin out all others ("Swarm Testing", Groce et al., ISSTA 2012).
func swarm(rnd *rand.Rand, kinds []kind) []int {
	weights, sum := make([]int, len(kinds)), 0
	for sum == 0 {
		for i, k := range kinds {
			if rnd.IntN(2) == 0 {
				weights[i] = k.weight
				sum += k.weight
			}
		}
	}
	return weights
}

// lasting draws how long a fault lasts: 0.1 to 3 TTL, mostly short.
func lasting(rnd *rand.Rand, ttl Span) Span {
	u := rnd.Float64()
	return (ttl/10 + Span(u*u*2.9*float64(ttl))).round()
}

// round cuts below a millisecond: shorter reads better.
func (s Span) round() Span { return Span(s.D().Round(time.Millisecond)) }

func between(rnd *rand.Rand, low, high Span) Span {
	return (low + Span(rnd.Float64()*float64(high-low))).round()
}

// skewed draws from low to high, mostly low.
func skewed(rnd *rand.Rand, low, high int) int {
	u := rnd.Float64()
	return int(math.Round(float64(low) * math.Pow(float64(high)/float64(low), u*u)))
}

// pick draws an index by weight.
func pick(rnd *rand.Rand, weights []int) int {
	sum := 0
	for _, w := range weights {
		sum += w
	}
	n := rnd.IntN(sum)
	for i, w := range weights {
		if n -= w; n < 0 {
			return i
		}
	}
	return len(weights) - 1
}

func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0)) }
