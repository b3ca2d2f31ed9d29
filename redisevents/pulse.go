package redisevents

import (
	"strconv"
	"strings"
	"sync"
	"time"
)

// pulse is the proof of life of one subscription. It hears the canaries of all listeners,
// each of which proves that the subscription delivers, and those of its own, which Redis
// accepted and which must be heard within a bound. It is safe for concurrent use: one
// goroutine publishes, another hears.
type pulse struct {
	name string // tells its canaries from those of others
	dead time.Duration
	lag  func(time.Duration) // may be nil

	mu      sync.Mutex
	next    uint64
	oldest  uint64    // the oldest accepted canary not heard yet
	since   time.Time // when it was sent; zero: none is awaited
	heardTo uint64    // all canaries below are heard
	counted bool      // the server counted this subscription as a receiver of its own canary
	drawn   time.Time // when the last one was

	listeners int64 // of the server, as last counted; zero: not known

	alive   time.Time // when the last canary came, of whomever
	server  identity  // who the server is thought to be
	vouched time.Time // when somebody last said that it still is
}

// newPulse starts its numbers at first, so that a canary cannot be guessed.
func newPulse(dead time.Duration, name string, first uint64, lag func(time.Duration)) *pulse {
	return &pulse{dead: dead, name: name, lag: lag, next: first, heardTo: first}
}

// knows sets who the server was found to be.
func (p *pulse) knows(server identity) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.server = server
}

// draw returns the next canary's number and text. One that vouches says who the server is,
// which its sender has just asked.
func (p *pulse) draw(vouches bool) (n uint64, text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n = p.next
	p.next++
	p.drawn = time.Now()
	text = p.name + " " + strconv.FormatUint(n, 10)
	if vouches && p.server.known() {
		text += " " + p.server.String()
	}
	return n, text
}

// accepted records that Redis took canary n, sent at the time given.
func (p *pulse) accepted(n uint64, sent time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.since.IsZero() && n >= p.heardTo {
		p.oldest, p.since = n, sent
	}
}

// left reports whether this subscription has left the server that a canary for it alone was
// published on: it was among the receivers once and is no longer.
func (p *pulse) left(receivers int64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if receivers > 0 {
		p.counted = true
	}
	return receivers == 0 && p.counted
}

// meets records how many listeners heard a canary for all.
func (p *pulse) meets(listeners int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.listeners = listeners
}

// heard records that a canary came. Texts that no listener sends are ignored.
func (p *pulse) heard(text string, now time.Time) {
	name, rest, _ := strings.Cut(text, " ")
	number, server, vouches := strings.Cut(rest, " ")
	n, err := strconv.ParseUint(number, 10, 64)
	if err != nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case name == p.name && !p.back(n):
		return
	case name != p.name && !p.server.known():
		return // it may be of another server, and nobody vouches for this one
	}
	p.alive = now
	if vouches && p.server.known() && server == p.server.String() {
		p.vouched = now
	}
}

// back books one of its own, and reports whether it was drawn and is heard for the first
// time.
func (p *pulse) back(n uint64) bool {
	if n < p.heardTo || n >= p.next {
		return false
	}
	p.heardTo = n + 1
	if p.lag != nil && p.heardTo == p.next { // else when it was drawn is not known any more
		p.lag(time.Since(p.drawn))
	}
	if n >= p.oldest {
		p.since = time.Time{}
	}
	return true
}

// proofs are the latest.
type proofs struct {
	alive   time.Time // a canary was heard, of whomever
	drawn   time.Time // one was published
	vouched time.Time // somebody said that the server is still the same
	end     time.Time // when one that Redis accepted is unheard for too long; zero: none is awaited
	known   bool      // the server tells who it is
	// listeners is how many hear canaries, as far as that is known.
	listeners int64
}

func (p *pulse) proofs() proofs {
	p.mu.Lock()
	defer p.mu.Unlock()
	latest := proofs{
		alive: p.alive, drawn: p.drawn, vouched: p.vouched, known: p.server.known(), listeners: p.listeners,
	}
	if !p.since.IsZero() {
		latest.end = p.since.Add(p.dead)
	}
	return latest
}

// stopped reports whether an accepted canary is unheard for too long.
func (p proofs) stopped(now time.Time) bool { return !p.end.IsZero() && !now.Before(p.end) }
