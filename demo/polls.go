package demo

import (
	"encoding/json"
	"sync"
	"time"

	"leasehold/target"
)

// polls follows the target's record, poll by poll.
type polls struct {
	mu      sync.Mutex
	last    map[string]last // by session
	longest time.Duration   // between two starts of one session
	waits   []*wait
}

// last is the newest poll of a session.
type last struct {
	instance string
	from     time.Duration
}

// wait is for the sessions of a node that is gone to be polled again.
type wait struct {
	node     string
	sessions int
	event    string // since when
	since    time.Duration
	open     map[string]struct{}
	latest   time.Duration // of the first polls afterwards
	gap      time.Duration // the longest that was closed
}

func newPolls() *polls { return &polls{last: map[string]last{}} }

// Write takes one record of the target. It never fails.
func (p *polls) Write(line []byte) (int, error) {
	var r target.Record
	if json.Unmarshal(line, &r) == nil { // the target writes no other lines
		p.add(r)
	}
	return len(line), nil
}

func (p *polls) add(r target.Record) {
	p.mu.Lock()
	defer p.mu.Unlock()
	before, known := p.last[r.Session]
	if known && r.From <= before.from {
		return // ended after a later one had
	}
	p.last[r.Session] = last{instance: r.Instance, from: r.From}
	if !known {
		return
	}
	gap := r.From - before.from
	p.longest = max(p.longest, gap)
	for _, w := range p.waits {
		if _, open := w.open[r.Session]; open && r.From > w.since {
			delete(w.open, r.Session)
			w.latest = max(w.latest, r.From)
			w.gap = max(w.gap, gap)
		}
	}
}

// await begins to wait, from an event on, for the sessions that the instance polled
// last, and returns how many they are.
func (p *polls) await(node, instance, event string, now time.Duration) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	w := &wait{node: node, event: event, since: now, open: map[string]struct{}{}}
	for session, l := range p.last {
		if l.instance == instance {
			w.open[session] = struct{}{}
		}
	}
	w.sessions = len(w.open)
	if w.sessions > 0 {
		p.waits = append(p.waits, w)
	}
	return w.sessions
}

// over returns the waits that have ended since it was last called.
func (p *polls) over() []wait {
	p.mu.Lock()
	defer p.mu.Unlock()
	var done []wait
	var still []*wait
	for _, w := range p.waits {
		if len(w.open) == 0 {
			done = append(done, *w)
		} else {
			still = append(still, w)
		}
	}
	p.waits = still
	return done
}

// longestGap is the longest time between two starts of one session so far.
func (p *polls) longestGap() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.longest
}
