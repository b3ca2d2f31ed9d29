package target

import "time"

// window is how many full seconds a rate is taken over.
const window = 10

// rate counts events in a ring of seconds, one more than the window for the second
// that is not full yet.
type rate struct {
	counts  [window + 1]int64
	seconds [window + 1]int64 // which second a count is of
}

func (r *rate) add(at time.Duration) {
	s := int64(at / time.Second)
	i := s % int64(len(r.counts))
	if r.seconds[i] != s {
		r.seconds[i], r.counts[i] = s, 0
	}
	r.counts[i]++
}

func (r *rate) perSecond(now time.Duration) float64 {
	current := int64(now / time.Second)
	if current == 0 {
		return float64(r.counts[0]) / max(now.Seconds(), 0.001)
	}
	oldest := max(0, current-window)
	var sum int64
	for i, s := range r.seconds {
		if s >= oldest && s < current {
			sum += r.counts[i]
		}
	}
	return float64(sum) / float64(current-oldest)
}
