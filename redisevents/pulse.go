package redisevents

import (
	"strconv"
	"sync"
	"time"
)

// pulse is the proof of life of one subscription: canaries that Redis accepted
// must be heard within a bound. It is safe for concurrent use: one goroutine
// publishes, another hears.
type pulse struct {
	dead time.Duration
	lag  func(time.Duration) // may be nil

	mu      sync.Mutex
	next    uint64
	oldest  uint64    // the oldest accepted canary not heard yet
	since   time.Time // when it was sent; zero: none is awaited
	heardTo uint64    // all canaries below are heard
	counted bool      // the server counted this subscription as a receiver
	drawn   time.Time // when the last one was
}

// newPulse starts its numbers at first, so that a canary cannot be guessed.
func newPulse(dead time.Duration, first uint64, lag func(time.Duration)) *pulse {
	return &pulse{dead: dead, lag: lag, next: first, heardTo: first}
}

// draw returns the next canary's number and text.
func (p *pulse) draw() (n uint64, text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n = p.next
	p.next++
	p.drawn = time.Now()
	return n, strconv.FormatUint(n, 10)
}

// accepted records that Redis took canary n, sent at the time given, and handed it to receivers
// subscribers. It reports whether this subscription has left that server: it was
// counted once and is no longer.
func (p *pulse) accepted(n uint64, sent time.Time, receivers int64) (left bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if receivers > 0 {
		p.counted = true
	}
	if p.since.IsZero() && n >= p.heardTo {
		p.oldest, p.since = n, sent
	}
	return receivers == 0 && p.counted
}

// heard records that a canary came back. Texts that were never drawn are ignored.
func (p *pulse) heard(text string) {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if n < p.heardTo || n >= p.next {
		return
	}
	p.heardTo = n + 1
	if p.lag != nil && p.heardTo == p.next { // else when it was drawn is not known any more
		p.lag(time.Since(p.drawn))
	}
	if n >= p.oldest {
		p.since = time.Time{}
	}
}

// stopped reports whether an accepted canary is unheard for too long.
func (p *pulse) stopped(now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.since.IsZero() && now.Sub(p.since) >= p.dead
}
