package fleet

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"leasehold/target"
	"leasehold/test/fleet/check"
)

const (
	soakSessions = 2000
	soakStable   = 1000 // the first ones: never edited, always answered at once
	soakSpan     = 20 * time.Second
	soakCalm     = 8 * time.Second // between two faults: failover and settling
	soakEvery    = 2 * time.Second // between two samples
	soakWarm     = time.Minute     // pools, heaps and maps have grown
)

// verdict judges the lines of a target as they come.
type verdict struct {
	mu      sync.Mutex
	rolling check.Rolling
	bad     error
}

func (v *verdict) Write(line []byte) (int, error) {
	var r target.Record
	err := json.Unmarshal(line, &r)
	v.mu.Lock()
	defer v.mu.Unlock()
	if err != nil {
		v.bad = err
		return len(line), nil
	}
	v.rolling.Add(r)
	return len(line), nil
}

func (v *verdict) idle(ids []string, since time.Duration) []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.rolling.Idle(ids, since)
}

func (v *verdict) all() (check.Verdict, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.rolling.Verdict(1000), v.bad
}

// A fleet with constant edits and faults grows nowhere and breaks no promise, for as
// many minutes as SOAK says.
func TestSoak(t *testing.T) {
	minutes, err := strconv.ParseFloat(os.Getenv("SOAK"), 64)
	if err != nil {
		t.Skip("runs for as many minutes as SOAK says: make soak")
	}
	length := time.Duration(minutes * float64(time.Minute))
	seen := &verdict{rolling: check.Rolling{Span: soakSpan}}
	f := newFleet(t, plan{ttl: 6 * time.Second, interval: 2 * time.Second, ended: seen, env: []string{
		"LEASEHOLD_RESULT_MAXLEN=1000", "LEASEHOLD_POLL_TIMEOUT=3s", "LEASEHOLD_DRAIN_TIMEOUT=10s",
	}})
	s := &soak{fleet: f, seen: seen, rand: rand.New(rand.NewPCG(seedOf(t), 2)), done: map[string]int{}}
	s.begin()
	end := time.Now().Add(length)
	var running sync.WaitGroup
	running.Go(func() { s.churn(end) })
	running.Go(func() { s.measure(end) })
	s.harm(end)
	running.Wait()
	s.finish()
}

// soak is a fleet whose nodes a and b live all the time while c, d and e do not.
type soak struct {
	*fleet

	seen    *verdict
	rand    *rand.Rand // of harm
	done    map[string]int
	ids     []string
	keepers []*node
	others  []*node
	samples []sample
	edits   int
}

func (s *soak) begin() {
	s.t.Helper()
	s.ids = s.putMany(soakSessions)
	s.keepers = s.start("a", "b")
	s.others = s.start("c", "d", "e")
	s.balanced()
	s.stir()
}

// stir makes of all that is not stable what churn makes of it in the end, so that the
// load is the same from the start: a third each is slow, fails and answers at once; a
// third each has an interval of its own, pauses and is as it was.
func (s *soak) stir() {
	dice := rand.New(rand.NewPCG(2, 3))
	for _, id := range s.ids[soakStable:] {
		switch dice.IntN(3) {
		case 0:
			s.target.Set(id, slow(dice))
		case 1:
			s.target.Set(id, target.Behavior{Status: 500})
		}
		switch dice.IntN(3) {
		case 0:
			s.write(id, paced(dice))
		case 1:
			s.write(id, `,"paused":true`)
		}
	}
}

func slow(dice *rand.Rand) target.Behavior {
	return target.Behavior{Delay: time.Duration(dice.IntN(1500)) * time.Millisecond}
}

func paced(dice *rand.Rand) string {
	return fmt.Sprintf(`,"interval":"%dms","labels":{"n":"%d"}`, 1000+dice.IntN(3000), dice.IntN(1000))
}

func (s *soak) all() []*node { return slices.Concat(s.keepers, s.others) }

// churn edits, removes, adds and makes slow or wrong what is not stable, four at a time.
func (s *soak) churn(end time.Time) {
	dice := rand.New(rand.NewPCG(1, 3))
	pool := s.ids[soakStable:]
	gone := ""
	for ; time.Now().Before(end); time.Sleep(250 * time.Millisecond) {
		pick := func() string { return pool[dice.IntN(len(pool))] }
		s.target.Set(pick(), slow(dice))
		s.target.Set(pick(), target.Behavior{Status: 500})
		s.target.Set(pick(), target.Behavior{})
		s.write(pick(), paced(dice))
		s.write(pick(), `,"paused":true`)
		if gone != "" {
			s.write(gone, "")
		}
		gone = pick()
		s.rdb.Del(s.t.Context(), s.keys.Session(gone))
		s.edits += 5
	}
	for _, id := range pool {
		s.target.Set(id, target.Behavior{})
		s.write(id, "")
	}
}

// write stores a document; a Redis that is stalled gets it at the next edit.
func (s *soak) write(id, more string) {
	s.rdb.Set(s.t.Context(), s.keys.Session(id), s.document(id, more), 0)
}

// harm does one thing after the other, and looks whether all were polled in between.
func (s *soak) harm(end time.Time) {
	for i := 0; time.Now().Add(2 * soakCalm).Before(end); i++ {
		s.hit(i)
		wait(soakCalm)
		bound := 2*s.plan.ttl + s.plan.interval + 2*time.Second
		if since := s.target.Now() - bound; since > 0 {
			if idle := s.seen.idle(s.ids[:soakStable], since); len(idle) > 0 {
				s.t.Errorf("%d sessions were not polled for %s: %v", len(idle), bound, idle[:min(5, len(idle))])
			}
		}
	}
	wait(time.Until(end))
}

func (s *soak) hit(i int) {
	victim := s.rand.IntN(len(s.others))
	n := s.others[victim]
	what := []string{"kill", "drop connections", "stop", "stall", "freeze", "freeze shortly"}[i%6]
	s.done[what]++
	switch what {
	case "kill", "stop":
		if what == "kill" {
			n.kill()
		} else if code := n.term(); code != 0 {
			s.t.Errorf("%s: exit code %d", n.name, code)
		}
		wait(time.Second)
		s.nodes = slices.DeleteFunc(s.nodes, func(o *node) bool { return o == n })
		s.others[victim] = s.begun(n.name)
	case "drop connections":
		for _, kind := range []string{"normal", "pubsub"} {
			s.rdb.Do(s.t.Context(), "CLIENT", "KILL", "TYPE", kind, "SKIPME", "yes")
		}
	case "stall":
		s.redis.Pause()
		wait(700 * time.Millisecond)
		s.redis.Continue()
	case "freeze":
		n.pause()
		wait(s.plan.ttl * 3 / 2)
		n.proceed()
	default:
		k := s.keepers[s.rand.IntN(len(s.keepers))]
		k.pause()
		wait(time.Second)
		k.proceed()
	}
}

func (s *soak) begun(name string) *node {
	n := s.fleet.begin(name)
	n.ready()
	return n
}

// finish judges all that happened.
func (s *soak) finish() {
	s.t.Helper()
	s.t.Logf("faults: %v; %d edits", s.done, s.edits)
	v, err := s.seen.all()
	s.pass("polls", v.Err())
	s.pass("lines of the target", err)
	s.t.Logf("%d polls, target: %+v", v.Evidence, s.target.Stats())
	s.report()
	s.balanced()
}

// balanced waits until the sessions are shared evenly. Nodes that did not take their
// share in the turmoil count as full for a while.
func (s *soak) balanced() {
	s.t.Helper()
	from := time.Now()
	for ; !even(s.holders(), soakSessions, s.all()); time.Sleep(time.Second) {
		if time.Since(from) > restLimit {
			held := s.holders()
			s.t.Errorf("%d of %d sessions are leased, the nodes have %v after %s", len(held), soakSessions, loads(held, s.all()), restLimit)
			return
		}
	}
	s.t.Logf("shared evenly after %s", time.Since(from).Round(time.Second))
}
