package redisevents

import "sync"

// queue is a bounded set of events in the order of their first arrival. An event
// that is in it already is not added again; when it is full, all of it becomes one
// Gap. All methods are safe for concurrent use and never block.
type queue struct {
	limit  int
	notify func()

	mu     sync.Mutex
	events []Event
	seen   map[Event]struct{}
	gap    *Gap

	feeds feeds
}

func newQueue(limit int, notify func()) *queue {
	if notify == nil {
		notify = func() {}
	}
	return &queue{limit: limit, notify: notify, seen: map[Event]struct{}{}}
}

// add puts one event, which is no Gap, in.
func (q *queue) add(e Event) {
	if q.insert(e) {
		q.notify()
	}
	for _, f := range q.feeds.all() {
		f.queue.add(e)
	}
}

// addGap puts a gap in. Gaps that wait become one: the latest reason and server,
// Restarted if any of them was.
func (q *queue) addGap(g Gap) {
	if q.mergeGap(g) {
		q.notify()
	}
	for _, f := range q.feeds.all() {
		f.queue.addGap(g)
	}
}

// insert reports whether the queue was empty before.
func (q *queue) insert(e Event) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if _, ok := q.seen[e]; ok {
		return false
	}
	wasEmpty := q.empty()
	if len(q.events) >= q.limit {
		q.overflow()
		return wasEmpty
	}
	q.seen[e] = struct{}{}
	q.events = append(q.events, e)
	return wasEmpty
}

func (q *queue) mergeGap(g Gap) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	wasEmpty := q.empty()
	if q.gap != nil {
		g.Restarted = g.Restarted || q.gap.Restarted
	}
	q.gap = &g
	return wasEmpty
}

// overflow drops all events for one Gap: a full look serves them all.
func (q *queue) overflow() {
	q.events = nil
	clear(q.seen)
	if q.gap == nil {
		q.gap = &Gap{}
	}
	q.gap.Reason = reasonOverflow
}

func (q *queue) empty() bool { return q.gap == nil && len(q.events) == 0 }

// take empties the queue. A Gap comes first.
func (q *queue) take() []Event {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.empty() {
		return nil
	}
	taken := make([]Event, 0, len(q.events)+1)
	if q.gap != nil {
		taken = append(taken, *q.gap)
	}
	taken = append(taken, q.events...)
	q.gap, q.events = nil, nil
	clear(q.seen)
	return taken
}

// size is the number of entries, for metrics.
func (q *queue) size() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := len(q.events)
	if q.gap != nil {
		n++
	}
	return n
}
