package httpapi

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"time"
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

// queue lets so many requests through at a time as it has turns, in their order.
type queue struct {
	turns chan struct{}
	limit time.Duration
}

func newQueue(turns int, limit time.Duration) queue {
	return queue{turns: make(chan struct{}, turns), limit: limit}
}

// pass calls handle when it is the request's turn.
func (q queue) pass(handle handler) handler {
	return func(r *call) answer {
		if q.limit > queueLimit {
			r.grantTime(q.limit)
		}
		ctx, cancel := context.WithTimeout(r.Context(), q.limit)
		defer cancel()
		select {
		case q.turns <- struct{}{}:
			defer func() { <-q.turns }()

			return handle(r)
		case <-ctx.Done():
			return refuse(busy())
		}
	}
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
