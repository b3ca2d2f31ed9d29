package eventlog

import (
	"sync"
	"time"
)

// limiter counts the events of each name by the second, and by longer spans while there
// are too many for long.
type limiter struct {
	// summarize is called with mu not held.
	summarize func(name string, span time.Duration, count int)

	mu     sync.Mutex
	closed bool
	byName map[string]*window
}

// window is one span of one event.
type window struct {
	span   time.Duration
	ends   time.Time // or earlier, with a calm second
	seen   int
	second int // those of seen in the present second
	// timer is set while lines have been held back, and in all spans but the first.
	timer *time.Timer
	full  bool // ended without a calm second
}

const (
	// maxPerSpan is how many lines of one event a span may have. A second without more is
	// calm.
	maxPerSpan = 100
	// firstSpan is how long a span is. After one without a calm second the next is twice as
	// long, up to lastSpan: a hundred lines a second would be thousands before a hundred
	// thousand sessions have come.
	firstSpan = time.Second
	lastSpan  = 10 * time.Second
)

func newLimiter(summarize func(string, time.Duration, int)) *limiter {
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
		w = w.next(now)
		m.byName[name] = w
	}
	w.seen++
	w.second++
	if w.timer == nil && (w.seen > maxPerSpan || w.span > firstSpan) {
		w.timer = time.AfterFunc(min(firstSpan, w.ends.Sub(now)), func() { m.tick(name, w) })
	}
	return w.seen <= maxPerSpan
}

// next returns the window that follows w, which may be nil.
func (w *window) next(now time.Time) *window {
	span := firstSpan
	if w != nil && w.full && now.Before(w.ends.Add(firstSpan)) {
		span = min(2*w.span, lastSpan)
	}
	return &window{span: span, ends: now.Add(span)}
}

// tick has a second of the window be over, and with it perhaps the window.
func (m *limiter) tick(name string, w *window) {
	m.mu.Lock()
	calm := w.second <= maxPerSpan
	if current := m.byName[name] == w && w.timer != nil; current && !calm && time.Now().Before(w.ends) {
		w.second = 0
		w.timer.Reset(firstSpan)
		m.mu.Unlock()
		return
	}
	w.full = !calm
	m.mu.Unlock()
	m.end(name, w)
}

// end closes the window and reports what it held back. Whoever comes first, the
// timer or close, does so.
func (m *limiter) end(name string, w *window) {
	m.mu.Lock()
	current := m.byName[name] == w && w.timer != nil
	span, held := w.span, w.seen-maxPerSpan
	if current {
		now := time.Now()
		span -= max(0, w.ends.Sub(now).Truncate(time.Second))
		w.timer, w.ends = nil, now
	}
	m.mu.Unlock()
	if current && held > 0 {
		m.summarize(name, span, held)
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
