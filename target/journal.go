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
	done     []*flight
	stats    Stats
	rate     rate
	log      *json.Encoder
}

// history is what is known of one session.
type history struct {
	live   []*flight
	newest lease.Token
}

// flight is a poll that is in flight, or was.
type flight struct {
	Record

	of *history
	// met are the polls of the session that started while this one was in flight and
	// are not yet counted as overlaps.
	met []*flight
}

// overlaps reports whether f, seen to have ended at the moment given or not ended yet,
// certainly overlapped with m, which started later. If f's client has gone, it may have
// gone a little before that was seen, and so before m started. Nothing excuses m.
func (f *flight) overlaps(m *flight, at time.Duration) bool {
	return at-m.From > GoneGrace || !f.Live && !f.Gone
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
	for _, earlier := range h.live {
		earlier.met = append(earlier.met, f)
	}
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
		j.settle(other, f.To)
	}
	j.settle(f, f.To)
	f.met = nil
	j.stats.InFlight--
	if j.keep {
		j.done = append(j.done, f)
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

// settle counts the overlaps of f that are certain at the moment.
func (j *journal) settle(f *flight, at time.Duration) {
	f.met = slices.DeleteFunc(f.met, func(m *flight) bool {
		if !f.overlaps(m, at) {
			return false
		}
		f.Overlap, m.Overlap = true, true
		j.stats.Overlaps++
		return true
	})
}

// records returns the polls that ended and those in flight, in the order of their
// starts.
func (j *journal) records() []Record {
	j.mu.Lock()
	defer j.mu.Unlock()
	now := time.Now()
	all := make([]Record, 0, len(j.done)+j.stats.InFlight)
	for _, f := range j.done {
		all = append(all, f.Record)
	}
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

// snapshot returns the counters. An overlap with a poll that is in flight still counts
// as soon as it cannot be forgiven any more.
func (j *journal) snapshot() Stats {
	j.mu.Lock()
	defer j.mu.Unlock()
	now := time.Since(j.begun)
	s := j.stats
	s.Sessions = len(j.sessions)
	s.PerSecond = j.rate.perSecond(now)
	for _, h := range j.sessions {
		for _, f := range h.live {
			j.settle(f, now)
		}
	}
	s.Overlaps = j.stats.Overlaps
	return s
}

func (j *journal) now() time.Duration { return time.Since(j.begun) }
