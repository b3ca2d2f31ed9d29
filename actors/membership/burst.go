package membership

import "time"

const (
	// burstSize is how many new documents in a row make a burst, burstGap the pause
	// that ends it, burstMost how long one is waited for.
	burstSize = 10
	burstGap  = 100 * time.Millisecond
	burstMost = time.Second
)

// burst notes the arrival of new documents. When many come at once each node reads
// them in other portions, so that plans made meanwhile would differ.
type burst struct {
	count       int
	first, last time.Time
}

func (b *burst) note(now time.Time) {
	if now.Sub(b.last) >= burstGap {
		*b = burst{first: now}
	}
	b.count++
	b.last = now
}

// over returns when the burst counts as over; zero if there is none.
func (b *burst) over() time.Time {
	if b.count <= burstSize {
		return time.Time{}
	}
	end, most := b.last.Add(burstGap), b.first.Add(burstMost)
	if end.After(most) {
		return most
	}
	return end
}
