package httpapi

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"sync"
	"time"

	"leasehold/lease"
	"leasehold/redisevents"
	"leasehold/session"
)

const (
	// mostWait is the longest that a request may wait for something free, mostWaiting
	// how many may wait for one kind.
	mostWait    = time.Minute
	mostWaiting = 10_000
	// mostHints is how many sessions are looked at one by one; of more, all are.
	mostHints = mostLimit
	// leastRest is the shortest pause between two looks at all sessions. They take no
	// more than a tenth of the time: the longer one took, the longer is the pause.
	leastRest = 100 * time.Millisecond
	restTimes = 9
)

// vigil looks for free sessions for all who wait for some: once for all of them when
// a hint says that something may be free, when somebody new has come, and now and
// then, since hints get lost. What it finds is dealt out, so that no two try to take
// the same. What is not taken is found, and dealt to others, again. There is one for each
// kind of sessions that is waited for.
//
// It works only while somebody waits, on a goroutine of its own.
type vigil struct {
	kind    session.Kind // empty: any
	step    func(context.Context, *listing) error
	among   func(context.Context, []string) ([]lease.Record, error)
	follow  func(limit int) Feed
	recheck time.Duration

	changed chan struct{} // somebody came, or the last one went

	mu      sync.Mutex
	waiting []*waiter // in the order in which they came
	awake   bool
	// rested is when all sessions may be looked at again.
	rested time.Time
}

// waiter is a request that waits for something free.
type waiter struct {
	limit int
	seen  bool // a look at all sessions began after it came
	got   chan catch
}

// catch is what a waiter gets: some sessions, or why it is unknown what is free.
type catch struct {
	free []lease.Record
	err  error
}

func newVigil(a *api, kind session.Kind) *vigil {
	return &vigil{
		kind: kind,
		step: func(ctx context.Context, l *listing) (err error) {
			err = errInternal
			a.guarded(func() { _, err = a.step(ctx, l) })

			return err
		},
		among: func(ctx context.Context, ids []string) (free []lease.Record, err error) {
			err = errInternal
			a.guarded(func() { free, err = a.freeAmong(ctx, ids, kind) })

			return free, err
		},
		follow: a.Follow, recheck: max(a.Recheck, leastRest),
		changed: make(chan struct{}, 1),
	}
}

// await answers as soon as something is free, or with nothing when the time is over.
func (a *api) await(r *call, l *listing) answer {
	if stopped(a.Stop) {
		return refuse(stopping())
	}
	r.grantTime(l.wait)
	ctx, cancel := context.WithTimeout(r.Context(), l.wait)
	defer cancel()
	w := &waiter{limit: l.limit, got: make(chan catch, 1)}
	vigil := a.vigils[l.kind]
	if !vigil.join(context.WithoutCancel(ctx), w) {
		return refuse(busy())
	}
	defer vigil.leave(w)
	var got catch
	select {
	case got = <-w.got:
	case <-ctx.Done():
	case <-a.Stop:
	}
	if got.err != nil {
		return refuse(unknown(got.err))
	}

	return answer{status: http.StatusOK, body: free(got.free, r.resource)}
}

// stopping says that another node has to be asked.
func stopping() *problem {
	p := newProblem(http.StatusServiceUnavailable, "stopping", "nothing was done: this node is about to stop")
	p.retryAfter = leastPause

	return p
}

// join lets one wait, unless too many do.
func (v *vigil) join(ctx context.Context, w *waiter) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.waiting) >= mostWaiting {
		return false
	}
	v.waiting = append(v.waiting, w)
	if !v.awake {
		v.awake = true
		go v.watch(ctx)
	}
	v.tell()

	return true
}

// leave ends the wait of one, whether or not it got something.
func (v *vigil) leave(w *waiter) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if i := slices.Index(v.waiting, w); i >= 0 {
		v.waiting = slices.Delete(v.waiting, i, i+1)
	}
	if len(v.waiting) == 0 {
		v.tell()
	}
}

func (v *vigil) tell() {
	select {
	case v.changed <- struct{}{}:
	default: // it has been told
	}
}

// watch looks for free sessions until nobody waits.
func (v *vigil) watch(ctx context.Context) {
	var hints Feed = noFeed{}
	if v.follow != nil {
		hints = v.follow(mostHints)
	}
	defer hints.Close()
	all := time.NewTimer(0)
	defer all.Stop()
	for v.needed() {
		select {
		case <-v.changed:
			if v.somebodyNew() {
				all.Reset(v.rest())
			}
		case <-hints.Ready():
			if v.heed(ctx, hints.Take()) {
				all.Reset(v.rest())
			}
		case <-all.C:
			if v.rest() > 0 {
				all.Reset(v.rest())

				continue
			}
			if v.lookAtAll(ctx, hints) {
				all.Reset(v.rest())
			} else {
				all.Reset(v.recheck)
			}
		}
	}
}

// heed deals out what is free by the hints. It reports whether all sessions have to be
// looked at, as where some of these could not be: that says nothing of any others.
func (v *vigil) heed(ctx context.Context, hints []redisevents.Event) (gap bool) {
	ids, gap := sessionsOf(hints)
	if len(ids) > 0 {
		free, err := v.among(ctx, ids)
		v.deal(free, nil)
		gap = gap || err != nil
	}

	return gap
}

// lookAtAll looks step by step, and deals what it finds, until all was seen or nobody
// waits any more. Hints do not wait for it. It reports whether one of them was a gap.
func (v *vigil) lookAtAll(ctx context.Context, hints Feed) (gap bool) {
	v.mu.Lock()
	for _, w := range v.waiting {
		w.seen = true
	}
	v.mu.Unlock()
	began := time.Now()
	l := &listing{limit: mostLimit, leased: onlyFree, kind: v.kind, partly: true}
	var err error
	for {
		if err = v.step(ctx, l); err != nil || l.ended {
			break
		}
		v.deal(l.found, nil)
		l.found = nil
		select {
		case <-hints.Ready():
			gap = v.heed(ctx, hints.Take()) || gap
		default:
		}
		if !v.anybody() {
			break
		}
	}
	ended := time.Now()
	v.mu.Lock()
	v.rested = ended.Add(min(v.recheck, max(leastRest, restTimes*ended.Sub(began))))
	v.mu.Unlock()
	v.deal(l.found, cmp.Or(err, l.unread))

	return gap
}

// needed reports whether anybody waits. If not, the watch ends with that.
func (v *vigil) needed() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.awake = len(v.waiting) > 0

	return v.awake
}

func (v *vigil) anybody() bool {
	v.mu.Lock()
	defer v.mu.Unlock()

	return len(v.waiting) > 0
}

func (v *vigil) somebodyNew() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	n := len(v.waiting)

	return n > 0 && !v.waiting[n-1].seen
}

// rest is how long all sessions may not be looked at yet.
func (v *vigil) rest() time.Duration {
	v.mu.Lock()
	defer v.mu.Unlock()

	return max(0, time.Until(v.rested))
}

// deal gives those who wait their shares of what is free, each its own. An error is for
// those for whom nothing is left.
func (v *vigil) deal(free []lease.Record, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if n := len(v.waiting); n > 0 {
		share := (len(free) + n - 1) / n
		for len(v.waiting) > 0 && (len(free) > 0 || err != nil) {
			w := v.waiting[0]
			v.waiting = v.waiting[1:]
			some := min(share, w.limit, len(free))
			got := catch{free: free[:some]}
			if some == 0 {
				got.err = err
			}
			w.got <- got
			free = free[some:]
		}
	}
}

// sessionsOf returns the sessions that may be free by the hints, and whether all may.
func sessionsOf(hints []redisevents.Event) (ids []string, gap bool) {
	for _, h := range hints {
		switch h := h.(type) {
		case redisevents.LeaseFreed:
			ids = append(ids, h.Session)
		case redisevents.SessionTouched:
			ids = append(ids, h.ID)
		case redisevents.Gap:
			gap = true
		case redisevents.LeaseTaken, redisevents.NodeSeen, redisevents.NodeGone, redisevents.NodeMarked:
		}
	}

	return ids, gap
}

// noFeed is the feed of a server without hints.
type noFeed struct{}

func (noFeed) Ready() <-chan struct{}    { return nil }
func (noFeed) Take() []redisevents.Event { return nil }
func (noFeed) Close()                    {}

// freeAmong returns those of the sessions that are free and of the kind.
func (a *api) freeAmong(ctx context.Context, ids []string, kind session.Kind) ([]lease.Record, error) {
	l := &listing{limit: mostHints, leased: onlyFree, kind: kind, partly: true}
	_, err := a.add(ctx, l, unique(ids))

	return l.found, cmp.Or(err, l.unread)
}

// unique returns each once. They are sorted in place.
func unique(ids []string) []string {
	slices.Sort(ids)

	return slices.Compact(ids)
}
