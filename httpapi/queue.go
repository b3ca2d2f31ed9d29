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
	// queueLimit bounds the wait for a turn.
	queueLimit = 2 * time.Second
)

// queue lets so many requests through at a time as it has room for.
type queue chan struct{}

// pass calls handle when it is the request's turn.
func (q queue) pass(handle handler) handler {
	return func(r *call) answer {
		ctx, cancel := context.WithTimeout(r.Context(), queueLimit)
		defer cancel()
		select {
		case q <- struct{}{}:
			defer func() { <-q }()

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
