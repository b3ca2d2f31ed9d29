package httpapi

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"sync"
	"time"

	"leasehold/lease"
	"leasehold/session"
)

const (
	// workAtOnce is how many requests talk to Redis at a time: about half of a client's
	// connections, so that the node's renewals and polls find one. More would only wait
	// for connections too, between any two commands, until none is done in time.
	workAtOnce = 8
	// listsAtOnce is how many listings may be under way beside: each can take seconds.
	listsAtOnce = 2
	// batchesAtOnce is how many may renew many leases beside. Each keeps Redis busy for
	// tens of milliseconds at a time; two will do for it never to wait, and what anybody
	// else asks of it meanwhile, the node's own renewals first of all, waits for no more.
	batchesAtOnce = 2
	// workAbreast and batchesAbreast are those on each way of a store over several
	// servers. About twice as many ways as there are servers lead to one: of three, each
	// has ten requests and five parts of batches at most.
	workAbreast    = 2
	batchesAbreast = 1
	// queueLimit bounds the wait for a turn.
	queueLimit = 2 * time.Second
	// batchQueueLimit is the most that a batch waits, whose turns are longer.
	batchQueueLimit = 8 * time.Second
)

// batchLimitOf bounds a batch's wait for its turn. Leases are renewed when a third of
// their TTL is over; after another third there is still one left to ask again.
func batchLimitOf(ttl time.Duration) time.Duration {
	return min(batchQueueLimit, max(queueLimit, ttl/3))
}

// queue lets so many requests through at a time as it has turns, in their order. Where
// the store has several servers, each way has turns of its own: those who wait for a
// server that hangs take none from others.
type queue struct {
	turns, abreast int
	limit          time.Duration
	way            func(*call) string // nil: there is one

	mu    sync.Mutex
	lines map[string]*line // only those with somebody in
}

// line is the queue on one way.
type line struct {
	turns chan struct{}
	in    int
}

func newQueue(turns, abreast int, limit time.Duration) *queue {
	return &queue{turns: turns, abreast: abreast, limit: limit, lines: map[string]*line{}}
}

// pass calls handle when it is the request's turn.
func (q *queue) pass(handle handler) handler {
	return func(r *call) answer {
		way := oneWay
		if q.way != nil {
			way = q.way(r)
		}
		back, ok := q.take(r.Context(), way)
		if !ok {
			return refuse(busy())
		}
		defer back()

		return handle(r)
	}
}

// take waits for a turn, which has to be given back. It reports whether there was one in
// time: on one of several ways that is soon, since what waits there for a server that
// hangs may be part of a request that has been answered but for that.
func (q *queue) take(ctx context.Context, way string) (back func(), ok bool) {
	limit := q.limit
	if way != oneWay {
		limit = min(limit, queueLimit)
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	l := q.enter(way)
	select {
	case l.turns <- struct{}{}:
		return func() {
			<-l.turns
			q.leave(way, l)
		}, true
	case <-ctx.Done():
		q.leave(way, l)

		return nil, false
	}
}

func (q *queue) enter(way string) *line {
	q.mu.Lock()
	defer q.mu.Unlock()
	l, ok := q.lines[way]
	if !ok {
		turns := q.turns
		if way != oneWay {
			turns = q.abreast
		}
		l = &line{turns: make(chan struct{}, turns)}
		q.lines[way] = l
	}
	l.in++

	return l
}

func (q *queue) leave(way string, l *line) {
	q.mu.Lock()
	defer q.mu.Unlock()
	l.in--
	if l.in == 0 {
		delete(q.lines, way)
	}
}

// oneWay is the way to a store over one server.
const oneWay = ""

// wayTo names the servers that requests about a session wait for: that of its document,
// which they read first, and that of its lease.
func (a *api) wayTo(ctx context.Context, id string) string {
	document, grant := session.PlaceOf(ctx, a.Store, id), lease.PlaceOf(ctx, a.Store, id)
	if document == "" && grant == "" {
		return oneWay
	}

	return document + " " + grant
}

func busy() *problem {
	p := newProblem(http.StatusServiceUnavailable, "busy", "nothing was done: too many requests are under way")
	p.retryAfter = leastPause

	return p
}

// receive reads the whole body, so that a slow client takes nobody's turn. What went
// wrong meets the one who reads the body then.
func receive(r *http.Request) {
	text, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, batchLimit))
	r.Body = io.NopCloser(io.MultiReader(bytes.NewReader(text), broken{err}))
}

// broken ends a body, by the error if there was one.
type broken struct{ err error }

// Read implements [io.Reader].
func (b broken) Read([]byte) (int, error) {
	if b.err != nil {
		return 0, b.err
	}

	return 0, io.EOF
}
