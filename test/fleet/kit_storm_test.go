package fleet

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"leasehold/internal/wiretest"
	"leasehold/test/fleet/check"
)

// linked begins a node that reaches Redis over a wire of its own.
func (f *fleet) linked(name string, tap func(wiretest.Exchange)) (*node, *wiretest.Wire) {
	f.t.Helper()
	w := wiretest.Start(f.t, f.redis.Addr(), tap)
	url := fmt.Sprintf("LEASEHOLD_REDIS_URL=redis://%s/%d", w.Addr(), f.plan.db)
	return f.begin(name, url), w
}

// seat is a place in a fleet under storm: a node that lives or has ended, and what is
// wrong with it until when.
type seat struct {
	name          string
	n             *node
	wire          *wiretest.Wire
	frozen, apart time.Time
	lives         int
}

// storm disturbs a fleet at random: several things at once, on any node.
type storm struct {
	f     *fleet
	rand  *rand.Rand
	tap   func(client int) func(wiretest.Exchange)
	seats []*seat
	done  map[string]int
	wires []*wiretest.Wire
}

// newStorm starts the nodes. The seed is printed; STORM repeats one.
func newStorm(f *fleet, seed uint64, tap func(client int) func(wiretest.Exchange), names ...string) *storm {
	f.t.Helper()
	f.t.Logf("seed %d", seed)
	if tap == nil {
		tap = func(int) func(wiretest.Exchange) { return nil }
	}
	s := &storm{f: f, rand: rand.New(rand.NewPCG(seed, 1)), tap: tap, done: map[string]int{}}
	for _, name := range names {
		s.seats = append(s.seats, &seat{name: name})
	}
	for _, c := range s.seats {
		s.start(c)
	}
	for _, c := range s.seats {
		c.n.ready()
	}
	return s
}

func (s *storm) start(c *seat) {
	c.lives++
	c.n, c.wire = s.f.linked(c.name, s.tap(len(s.wires)))
	s.wires = append(s.wires, c.wire)
	c.frozen, c.apart = time.Time{}, time.Time{}
}

// gone reports whether the seat's node has ended.
func (c *seat) gone() bool {
	select {
	case <-c.n.ended:
		return true
	default:
		return false
	}
}

func (c *seat) up() bool { return len(c.n.all(event("node.ready"))) > 0 }

// round does one to three things, heals what is due, and lets the fleet work for up to
// the pause.
func (s *storm) round(pause time.Duration) {
	for range 1 + s.rand.IntN(3) {
		s.strike(s.seats[s.rand.IntN(len(s.seats))])
	}
	s.weather(time.Duration(s.rand.Int64N(int64(pause))))
}

// weather lets time pass; what is frozen or cut off comes back when it is due.
func (s *storm) weather(d time.Duration) {
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		for _, c := range s.seats {
			c.heal(time.Now())
		}
	}
}

// heal ends what is due.
func (c *seat) heal(now time.Time) {
	if !c.frozen.IsZero() && now.After(c.frozen) {
		c.frozen = time.Time{}
		c.n.proceed()
	}
	if !c.apart.IsZero() && now.After(c.apart) {
		c.apart = time.Time{}
		c.wire.Heal()
	}
}

// strike does one thing to a node; what depends on its state.
func (s *storm) strike(c *seat) {
	what := "start"
	switch {
	case c.gone():
		s.start(c)
	case !c.up():
		what = "wait"
	default:
		what = s.hit(c)
	}
	s.done[what]++
}

func (s *storm) hit(c *seat) string {
	span := func() time.Time {
		return time.Now().Add(s.f.plan.ttl/4 + time.Duration(s.rand.Int64N(int64(2*s.f.plan.ttl))))
	}
	switch p := s.rand.IntN(100); {
	case p < 25:
		c.n.kill()
		return "kill"
	case p < 45 && c.frozen.IsZero():
		c.n.ending.Store(true)
		c.n.signal(sigterm)
		return "term"
	case p < 65 && !c.n.ending.Load():
		c.n.pause()
		c.frozen = span()
		return "freeze"
	case p < 90:
		ways := [][2]wiretest.Way{
			{wiretest.Lose, wiretest.Lose},
			{wiretest.Lose, wiretest.Pass},
			{wiretest.Pass, wiretest.Lose},
			{wiretest.Hold, wiretest.Pass},
			{wiretest.Pass, wiretest.Hold},
		}
		i := s.rand.IntN(len(ways))
		c.wire.Set(ways[i][0], ways[i][1])
		c.apart = span()
		return []string{"cut", "deaf server", "deaf node", "late commands", "late replies"}[i]
	default:
		c.wire.Drop()
		return "drop connections"
	}
}

// calm ends all faults, fills all seats, and returns the nodes when they have joined.
func (s *storm) calm() []*node {
	s.f.t.Helper()
	var nodes []*node
	for _, c := range s.seats {
		c.heal(time.Now().Add(time.Hour))
	}
	for _, c := range s.seats {
		if c.n.ending.Load() {
			c.n.exit(exitLimit)
			s.start(c)
		}
	}
	for _, c := range s.seats {
		c.n.ready()
		nodes = append(nodes, c.n)
	}
	s.f.t.Logf("what happened: %v", s.done)
	return nodes
}

// stormy is a fleet that a storm can do much to in a short time.
func stormy() plan {
	return plan{ttl: 2 * time.Second, interval: 500 * time.Millisecond, env: []string{
		"LEASEHOLD_DRAIN_TIMEOUT=5s", "LEASEHOLD_RECONCILE_INTERVAL=2s",
	}}
}

// restLimit is how long nodes that have not taken their share in the storm may count as
// full: a reconcile interval at first, and twice as long each time.
const restLimit = 40 * time.Second

// rest ends the storm, and returns the nodes when they share the sessions.
func (s *storm) rest() []*node {
	s.f.t.Helper()
	nodes := s.calm()
	calmed, from := s.f.target.Now(), time.Now()
	s.f.settled(restLimit, nodes...)
	s.f.t.Logf("shared evenly after %s", (time.Since(from) - time.Second).Round(10*time.Millisecond))
	s.f.revived(s.f.known(), calmed, s.f.recovered())
	return nodes
}

// judge says what a storm may not have done.
func (s *storm) judge(need int) {
	s.f.t.Helper()
	h := s.f.history()
	s.f.pass("safety", check.Safety(h, need))
	s.f.pass("fail closed", check.FailClosed(h, check.OwnerTolerance, need).Err())
	s.f.pass("tokens in Redis", neverFalls(h.Leases))
	s.f.t.Logf("%d polls, %d samples", len(h.Polls), len(h.Leases))
}

// neverFalls checks the tokens that Redis has.
func neverFalls(samples []check.LeaseSample) error {
	top := map[string]check.LeaseSample{}
	for _, s := range samples {
		if s.Token == 0 {
			continue
		}
		if s.Token < top[s.Session].Token {
			return fmt.Errorf("%s: %s after %s", s.Session, s, top[s.Session])
		}
		top[s.Session] = s
	}
	return nil
}

// seedOf draws a seed, or takes the one that STORM names.
func seedOf(t *testing.T) uint64 {
	t.Helper()
	named := os.Getenv("STORM")
	if named == "" {
		return rand.Uint64()
	}
	seed, err := strconv.ParseUint(named, 10, 64)
	if err != nil {
		t.Fatalf("STORM: %v", err)
	}
	return seed
}
