// Command webhook receives results that a fleet sends as webhooks. It believes only
// what is signed with its secret, and takes nothing that is late:
//
//	WEBHOOK_SECRET=whsec_… webhook 127.0.0.1:9000
//
//	LEASEHOLD_RESULT_SINKS=webhook LEASEHOLD_RESULT_WEBHOOK_URL=http://127.0.0.1:9000/
//	LEASEHOLD_RESULT_WEBHOOK_SECRET=whsec_… leasehold run
//
// It prints one line for each result: accepted or refused, and its ID.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"leasehold/results"
)

const (
	// maxEvent is more than an event with a body of 64 KiB takes, escaped.
	maxEvent = 1 << 20
	// readLimit bounds the reading of a request.
	readLimit = 10 * time.Second
)

func main() {
	if err := run(os.Args, os.Getenv("WEBHOOK_SECRET")); err != nil {
		fmt.Fprintln(os.Stderr, "webhook:", err)
		os.Exit(1)
	}
}

func run(args []string, secret string) error {
	if len(args) != 2 || secret == "" {
		return errors.New("usage: WEBHOOK_SECRET=whsec_… webhook ADDRESS")
	}
	r, err := newReceiver(secret, os.Stdout)
	if err != nil {
		return err
	}
	server := &http.Server{Addr: args[1], Handler: r, ReadTimeout: readLimit}
	return server.ListenAndServe()
}

// receiver keeps the newest position of each session. A real one keeps it where it
// keeps what it makes of the results, and changes both in one transaction.
type receiver struct {
	verifier *standardwebhooks.Webhook
	out      io.Writer

	mu     sync.Mutex
	newest map[string]results.Position
}

func newReceiver(secret string, out io.Writer) (*receiver, error) {
	verifier, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		return nil, errors.New("the secret is no base64")
	}
	return &receiver{verifier: verifier, out: out, newest: make(map[string]results.Position)}, nil
}

// ServeHTTP takes one result. What is late is answered like what is taken: sending it
// again would change nothing.
func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, req.Body, maxEvent))
	if err != nil {
		http.Error(w, "too large, or broken off", http.StatusBadRequest)
		return
	}
	// Also refuses what was signed more than five minutes ago.
	if err := r.verifier.Verify(body, req.Header); err != nil {
		http.Error(w, "not signed by the fleet", http.StatusUnauthorized)
		return
	}
	var e results.Event
	if err := json.Unmarshal(body, &e); err != nil {
		http.Error(w, "no event", http.StatusBadRequest)
		return
	}
	at, err := e.Position()
	if err != nil {
		http.Error(w, "no token or no sequence", http.StatusBadRequest)
		return
	}
	r.take(e, at)
	w.WriteHeader(http.StatusNoContent)
}

// take accepts the result, unless one that is as new was accepted already.
func (r *receiver) take(e results.Event, at results.Position) {
	r.mu.Lock()
	defer r.mu.Unlock()
	verdict := "refused"
	if at.After(r.newest[e.Data.Session]) {
		verdict = "accepted"
		r.newest[e.Data.Session] = at
	}
	fmt.Fprintln(r.out, verdict, e.ID)
}
