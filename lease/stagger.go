package lease

import (
	"hash/fnv"
	"time"
)

// Stagger has leases that are renewed together end one after the other: each up to one
// part in so many of its TTL sooner, by a hash of its session. Should their holder die,
// whoever takes them over takes each at its deadline, where leases that end in one moment
// wait for each other. Zero staggers nothing.
type Stagger int

// golden spreads a hash (Knuth, The Art of Computer Programming, 6.4: Fibonacci hashing).
const golden = 0x9E3779B97F4A7C15

// TTL returns the TTL of a session's lease where ttl is the most.
func (s Stagger) TTL(session string, ttl time.Duration) time.Duration {
	if s <= 0 {
		return ttl
	}

	return ttl - Spread(session, ttl/time.Duration(s))
}

// Spread returns a part of most, by a hash of name: those of many names lie evenly.
func Spread(name string, most time.Duration) time.Duration {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name))
	part := int64(h.Sum64() * golden >> 48) // of 1<<16: FNV's own are uneven for names in a row

	return time.Duration(int64(most) >> 16 * part)
}

// Heartbeat returns the TTL of the heartbeat where ttl is the most: written together with
// renewals of leases of that TTL it ends before them all, so that their deadlines are known
// by then.
func (s Stagger) Heartbeat(ttl time.Duration) time.Duration {
	if s <= 0 {
		return ttl
	}

	return ttl - 2*ttl/time.Duration(s)
}
