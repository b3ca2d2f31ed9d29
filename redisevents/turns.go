package redisevents

import (
	"hash/fnv"
	"math/rand/v2"
	"time"
)

// alone is after how many paces at most a listener publishes a canary for itself though it
// hears those of others: they say that it hears, and not how late.
const alone = 30

// turns spreads the listeners of a server: what one of them has to do in a pace, the one
// does that comes first, and the others, which hear of it, leave it.
type turns struct{ random *rand.Rand }

// newTurns draws by the name, where there is one: a fleet in virtual time is to take the
// same turns each time.
func newTurns(name string) turns {
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(name)) // never fails
	seed := hash.Sum64()
	if name == "" {
		seed = rand.Uint64()
	}
	return turns{rand.New(rand.NewPCG(seed, 0))}
}

// wait is how long after it was done last a listener does what is due once a pace: at
// most the pace, and at least three quarters of it.
func (t turns) wait(pace time.Duration) time.Duration {
	return pace - time.Duration(t.random.Int64N(int64(pace/4)+1))
}

// due reports whether nobody has done for long enough what is due once a pace.
func due(done, now time.Time, pace time.Duration) bool { return now.Sub(done) >= pace-pace/4 }
