package target

import (
	"cmp"
	"encoding/json"
	"io"
	"slices"
	"sync"
	"time"

	"leasehold/lease"
)

// GoneGrace is how much of an overlap is forgiven to a poll whose client has gone.
const GoneGrace = 50 * time.Millisecond

// journal counts and records polls.
type journal struct {
	// Set once.
	begun time.Time
	keep  bool

	mu       sync.Mutex
	sessions map[string]*history
	done     []Record
	stats    Stats
	rate     rate
	log      *json.Encoder
}

// history is what is known of one session.
type history struct {
	live   []*flight
	newest lease.Token
}

// flight is a poll in flight.
type flight struct {
	Record

	of *history
}

func newJournal(keep bool, log io.Writer) *journal {
	j := &journal{begun: time.Now(), keep: keep, sessions: map[string]*history{}}
	if log != nil {
		j.log = json.NewEncoder(log)
	}
	return j
}

func (j *journal) start(session, instance string, token lease.Token) *flight {
	j.mu.Lock()
	defer j.mu.Unlock()
	// The clock is read under the lock: the order of records is that of their starts.
	now := time.Now()
	h := j.sessions[session]
	if h == nil {
		h = &history{}
		j.sessions[session] = h
	}
	f := &flight{of: h, Record: Record{
		Session: session, Instance: instance, Token: token,
		Start: now, From: now.Sub(j.begun), Live: true,
	}}
	h.live = append(h.live, f)
	if token < h.newest {
		j.stats.Stale++
	}
	h.newest = max(h.newest, token)
	j.stats.Polls++
	j.stats.InFlight++
	j.stats.Deepest = max(j.stats.Deepest, len(h.live))
	j.rate.add(f.From)
	return f
}

func (j *journal) end(f *flight, status int, gone bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	now := time.Now()
	f.close(now, j.begun)
	f.Status, f.Gone, f.Live = status, gone, false
	f.of.live = slices.DeleteFunc(f.of.live, func(l *flight) bool { return l == f })
	for _, other := range f.of.live {
		if f.overlaps(other, f.To) {
			f.Overlap, other.Overlap = true, true
			j.stats.Overlaps++
		}
	}
	j.stats.InFlight--
	if j.keep {
		j.done = append(j.done, f.Record)
	}
	if j.log != nil {
		if err := j.log.Encode(f.Record); err != nil {
			j.stats.Unlogged++
		}
	}
}

func (r *Record) close(now, begun time.Time) {
	r.End, r.To = now, now.Sub(begun)
}

// overlaps reports whether f, which ended at the moment given or has not ended,
// overlapped with a poll that has not ended.
func (f *flight) overlaps(other *flight, at time.Duration) bool {
	return !f.Gone || at-max(f.From, other.From) > GoneGrace
}

// records returns the polls that ended and those in flight, in the order of their
// starts.
func (j *journal) records() []Record {
	j.mu.Lock()
	defer j.mu.Unlock()
	now := time.Now()
	all := slices.Clone(j.done)
	for _, h := range j.sessions {
		for _, f := range h.live {
			r := f.Record
			r.close(now, j.begun)
			all = append(all, r)
		}
	}
	slices.SortStableFunc(all, func(a, b Record) int { return cmp.Compare(a.From, b.From) })
	return all
}

// snapshot returns the counters. An overlap of polls that are all in flight still
// counts as soon as it cannot be forgiven any more.
func (j *journal) snapshot() Stats {
	j.mu.Lock()
	defer j.mu.Unlock()
	now := time.Since(j.begun)
	s := j.stats
	s.Sessions = len(j.sessions)
	s.PerSecond = j.rate.perSecond(now)
	for _, h := range j.sessions {
		for i, f := range h.live {
			for _, other := range h.live[i+1:] {
				if now-max(f.From, other.From) > GoneGrace {
					s.Overlaps++
				}
			}
		}
	}
	return s
}

func (j *journal) now() time.Duration { return time.Since(j.begun) }
