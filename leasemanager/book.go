package leasemanager

import (
	"context"
	"slices"
	"sync"

	"leasehold/actors/tenure"
)

// Callbacks are told of leases. Those of one session are called one at a time and in
// order: Acquired, then Uncertain and Certain in turn, and Lost last. Those of
// different sessions run beside each other, on goroutines of the member. Each may be
// nil. None is begun after Stop has returned.
type Callbacks struct {
	// Acquired says that a lease is ours.
	Acquired func(LeaseInfo)
	// Uncertain says that a renewal had no answer, Certain that one was accepted again.
	Uncertain, Certain func(LeaseInfo)
	// Lost says that a lease has ended, and why: ErrReleased, ErrExpired, ErrLost. Its
	// context ended before. A lease that we give back is given back when Lost returns,
	// so that work can end first.
	Lost func(info LeaseInfo, why error)
}

// book knows the tenures of the process.
type book struct {
	callbacks Callbacks

	mu       sync.Mutex
	current  map[string]*record // by session
	records  map[*tenure.Tenure]*record
	silenced bool
}

// record is one tenure in the book.
type record struct {
	tenure *tenure.Tenure
	polled bool          // by plan, not by hand
	before chan struct{} // closed when the session's last tenure is over; nil if it is
	over   chan struct{}
}

func newBook() *book {
	return &book{current: make(map[string]*record), records: make(map[*tenure.Tenure]*record)}
}

// watcher writes the tenures of one node into the book.
type watcher struct {
	*book

	polled bool
}

// Open implements tenure.Watcher.
func (w watcher) Open(t *tenure.Tenure) {
	w.mu.Lock()
	defer w.mu.Unlock()
	r := &record{tenure: t, polled: w.polled, over: make(chan struct{})}
	id := t.Cell().Grant().Session
	if last, ok := w.current[id]; ok {
		r.before = last.over
	}
	w.current[id], w.records[t] = r, r
}

// Tell implements tenure.Watcher. A session's next tenure can begin while the last
// one is still being told of, where one was by hand and one by plan.
func (w watcher) Tell(t *tenure.Tenure, c tenure.Change) {
	w.mu.Lock()
	before := w.records[t].before
	w.mu.Unlock()
	if before != nil {
		<-before
	}
	if call := w.callback(t, c); call != nil && !w.silent() {
		call()
	}
}

// callback returns what to call; nil if there is nothing.
func (b *book) callback(t *tenure.Tenure, c tenure.Change) func() {
	tell, state := b.callbacks.Acquired, Owned
	switch c {
	case tenure.Acquired:
	case tenure.Uncertain:
		tell, state = b.callbacks.Uncertain, Uncertain
	case tenure.Certain:
		tell = b.callbacks.Certain
	case tenure.Ended:
		if b.callbacks.Lost == nil {
			return nil
		}
		return func() { b.callbacks.Lost(infoOf(t), context.Cause(t.Context())) }
	}
	if tell == nil {
		return nil
	}
	return func() {
		info := infoOf(t)
		info.State, info.Owner = state, t.Cell().Grant().Holder // whatever has happened since
		tell(info)
	}
}

// Close implements tenure.Watcher.
func (w watcher) Close(t *tenure.Tenure) {
	w.mu.Lock()
	defer w.mu.Unlock()
	r := w.records[t]
	delete(w.records, t)
	if id := t.Cell().Grant().Session; w.current[id] == r {
		delete(w.current, id)
	}
	close(r.over)
}

// get returns a session's latest tenure; nil if there is none that is not over.
func (b *book) get(session string) *tenure.Tenure {
	if r := b.find(session); r != nil {
		return r.tenure
	}
	return nil
}

func (b *book) find(session string) *record {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.current[session]
}

// sessions returns those whose tenures have not ended, in order.
func (b *book) sessions() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	ids := make([]string, 0, len(b.current))
	for id, r := range b.current {
		if r.tenure.Context().Err() == nil {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// silence has no callback begin from now on.
func (b *book) silence() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.silenced = true
}

func (b *book) silent() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.silenced
}
