package eventlog

import (
	"sync"
	"time"
)

// limiter counts the events of each name by the second.
type limiter struct {
	summarize func(name string, count int) // called with mu not held

	mu     sync.Mutex
	closed bool
	byName map[string]*window
}

// window is one second of one event.
type window struct {
	ends  time.Time
	seen  int
	timer *time.Timer // set while lines have been held back
}

// maxPerSecond is how many lines of one event a second may have.
const maxPerSecond = 100

func newLimiter(summarize func(string, int)) *limiter {
	return &limiter{summarize: summarize, byName: make(map[string]*window)}
}

// allow counts one more event of that name and says whether it is within the
// limit.
func (m *limiter) allow(name string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return true
	}
	now := time.Now()
	w := m.byName[name]
	// A window whose summary is still to come goes on until its timer has run.
	if w == nil || (w.timer == nil && !now.Before(w.ends)) {
		w = &window{ends: now.Add(time.Second)}
		m.byName[name] = w
	}
	w.seen++
	if w.seen <= maxPerSecond {
		return true
	}
	if w.timer == nil {
		w.timer = time.AfterFunc(w.ends.Sub(now), func() { m.end(name, w) })
	}
	return false
}

// end closes the window and reports what it held back. Whoever comes first, the
// timer or close, does so.
func (m *limiter) end(name string, w *window) {
	m.mu.Lock()
	current := m.byName[name] == w
	if current {
		delete(m.byName, name)
	}
	m.mu.Unlock()
	if current && w.seen > maxPerSecond {
		m.summarize(name, w.seen-maxPerSecond)
	}
}

// close ends all windows and lifts the limit.
func (m *limiter) close() {
	m.mu.Lock()
	m.closed = true
	open := make(map[string]*window, len(m.byName))
	for name, w := range m.byName {
		if w.timer != nil {
			w.timer.Stop()
			open[name] = w
		}
	}
	m.mu.Unlock()
	for name, w := range open {
		m.end(name, w)
	}
}
