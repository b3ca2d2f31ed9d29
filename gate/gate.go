package gate

import "sync"

// Gate has a number of places. All methods may be called from any goroutine.
type Gate struct {
	mu          sync.Mutex
	free        int
	first, last *Place // of those who wait; nil while a place is free
}

// New returns a gate of so many places.
func New(places int) *Gate { return &Gate{free: places} }

// Place is somebody's at a gate, or in the line before it. It is given up by Leave.
type Place struct {
	gate  *Gate
	ready func()
	left  func() // may be nil

	// These need the gate's lock.
	state      state
	prev, next *Place
}

type state int

const (
	waiting state = iota
	in
	gone
)

// Enter takes a place. If it is not to be had at once, ready is called when it is, in
// another's goroutine: it must not block. It is not called after Leave has returned,
// unless it was already under way.
func (g *Gate) Enter(ready func()) (p *Place, atOnce bool) { return g.EnterAs(ready, nil) }

// EnterAs does as Enter, and has left called when the place was given up.
func (g *Gate) EnterAs(ready, left func()) (p *Place, atOnce bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	p = &Place{gate: g, ready: ready, left: left}
	if g.free > 0 {
		g.free--
		p.state = in
		return p, true
	}
	p.prev = g.last
	if g.last == nil {
		g.first = p
	} else {
		g.last.next = p
	}
	g.last = p
	return p, false
}

// Leave gives the place up, or waits no longer for it. A second call does nothing.
func (p *Place) Leave() {
	next, was := p.leave()
	if next != nil {
		next.ready()
	}
	if was != gone && p.left != nil {
		p.left()
	}
}

// leave returns who has the place now, and what the place was.
func (p *Place) leave() (next *Place, was state) {
	g := p.gate
	g.mu.Lock()
	defer g.mu.Unlock()
	was, p.state = p.state, gone
	switch was {
	case waiting:
		g.remove(p)
	case in:
		if next = g.first; next == nil {
			g.free++
		} else {
			g.remove(next)
			next.state = in
		}
	case gone:
	}
	return next, was
}

// remove takes somebody out of the line. It needs the lock.
func (g *Gate) remove(p *Place) {
	if p.prev == nil {
		g.first = p.next
	} else {
		p.prev.next = p.next
	}
	if p.next == nil {
		g.last = p.prev
	} else {
		p.next.prev = p.prev
	}
	p.prev, p.next = nil, nil
}
