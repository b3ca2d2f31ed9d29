package lease

import "time"

// FirstRetry is the wait before the first repetition of what got no answer.
const FirstRetry = 100 * time.Millisecond

// Retry returns the wait before a renewal or a heartbeat is tried again that has failed
// so many times before this failure: 100, 200, 400 ms and so on, up to a second, and a
// twelfth of the TTL at most. After an outage of half a TTL, of few seconds too, one has to
// come before the trust ends.
func Retry(ttl time.Duration, before int) time.Duration {
	const (
		most  = time.Second
		share = 12
	)
	return min(most, ttl/share, FirstRetry<<min(before, 4))
}
