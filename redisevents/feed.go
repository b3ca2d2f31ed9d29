package redisevents

import (
	"slices"
	"sync"
)

// Feed is one more queue of a listener's events, for one more taker. It holds what
// comes from its opening on; what comes too fast for it becomes one Gap, and delays
// nobody else.
type Feed struct {
	from  *feeds
	queue *queue
	ready chan struct{}
}

// Follow opens a feed that holds so many distinct events. Close it.
func (l *Listener) Follow(limit int) *Feed {
	f := &Feed{from: &l.queue.feeds, ready: make(chan struct{}, 1)}
	f.queue = newQueue(limit, func() {
		select {
		case f.ready <- struct{}{}:
		default: // the taker has been told
		}
	})
	f.from.add(f)
	return f
}

// Ready delivers when there is something to take.
func (f *Feed) Ready() <-chan struct{} { return f.ready }

// Take empties the feed. A Gap comes first.
func (f *Feed) Take() []Event { return f.queue.take() }

// Close ends the feed: nothing is added to it any more.
func (f *Feed) Close() { f.from.remove(f) }

// feeds are those that are open. All methods are safe for concurrent use.
type feeds struct {
	mu   sync.Mutex
	open []*Feed // never changed in place: who reads it needs no lock
}

func (s *feeds) all() []*Feed {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open
}

func (s *feeds) add(f *Feed) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open = append(slices.Clone(s.open), f)
}

func (s *feeds) remove(f *Feed) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open = slices.DeleteFunc(slices.Clone(s.open), func(o *Feed) bool { return o == f })
}
