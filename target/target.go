package target

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"leasehold/lease"
)

const (
	pollPath = "/p/"
	setPath  = "/set/"

	// What is read of a request's body; the client is not seen to go before its end.
	maxRequestBody = 1 << 20
)

// Options set a target up. Its zero value counts and keeps no records.
type Options struct {
	// Keep makes the target keep every record.
	Keep bool
	// Log gets each record as a JSON line when its poll has ended, one write a line.
	Log io.Writer
}

// Target is an http.Handler that records polls. All its methods may be called from any
// goroutine.
type Target struct {
	journal *journal

	mu        sync.RWMutex
	behaviors map[string]Behavior
}

// New returns a target.
func New(o Options) *Target {
	return &Target{journal: newJournal(o.Keep, o.Log), behaviors: map[string]Behavior{}}
}

// Path is the path at which a session is polled.
func Path(session string) string {
	return pollPath + url.PathEscape(session)
}

// Records returns the polls so far in the order of their starts, those in flight
// included. Those that have ended are there only with Options.Keep.
func (t *Target) Records() []Record { return t.journal.records() }

// Stats returns the counters.
func (t *Target) Stats() Stats { return t.journal.snapshot() }

// Overlaps returns how many pairs of polls of one session overlapped.
func (t *Target) Overlaps() int64 { return t.journal.snapshot().Overlaps }

// Now returns the time on the clock of Record.From and Record.To.
func (t *Target) Now() time.Duration { return t.journal.now() }

// Set says how the session is answered from now on. Polls in flight go on as they
// began. What a poll's own query names is overridden by a behavior that was set; an
// empty behavior removes the setting.
func (t *Target) Set(session string, b Behavior) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if b == (Behavior{}) {
		delete(t.behaviors, session)
		return
	}
	t.behaviors[session] = b
}

// behavior returns how the session is to be answered: as it was set, else as the query
// says.
func (t *Target) behavior(session string, query url.Values) (Behavior, error) {
	t.mu.RLock()
	set, ok := t.behaviors[session]
	t.mu.RUnlock()
	if ok {
		return set, nil
	}
	return ParseBehavior(query)
}

// ServeHTTP answers the routes of the package's doc.
func (t *Target) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	// A mux would clean the path and so change IDs.
	path := r.URL.EscapedPath()
	switch {
	case strings.HasPrefix(path, pollPath):
		withSession(w, path[len(pollPath):], func(id string) { t.poll(w, r, id) })
	case strings.HasPrefix(path, setPath) && r.Method == http.MethodPost:
		withSession(w, path[len(setPath):], func(id string) { t.set(w, r, id) })
	case path == "/stats":
		t.stats(w)
	default:
		http.NotFound(w, r)
	}
}

func (t *Target) stats(w http.ResponseWriter) {
	text, err := json.Marshal(t.Stats())
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(append(text, '\n'))
}

func withSession(w http.ResponseWriter, escaped string, serve func(id string)) {
	id, err := url.PathUnescape(escaped)
	if err != nil || id == "" {
		http.Error(w, "the path names no session", http.StatusBadRequest)
		return
	}
	serve(id)
}

func (t *Target) set(w http.ResponseWriter, r *http.Request, id string) {
	b, err := ParseBehavior(r.URL.Query())
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	t.Set(id, b)
	w.WriteHeader(http.StatusNoContent)
}

func (t *Target) poll(w http.ResponseWriter, r *http.Request, id string) {
	f := t.journal.start(id, r.Header.Get("Leasehold-Instance"), token(r))
	status := 0
	defer func() { t.journal.end(f, status, r.Context().Err() != nil) }()

	_, _ = io.Copy(io.Discard, io.LimitReader(r.Body, maxRequestBody))
	b, err := t.behavior(id, r.URL.Query())
	if err != nil {
		status = http.StatusBadRequest
		http.Error(w, err.Error(), status)
		return
	}
	status = answer(w, r, b)
	if r.Context().Err() != nil {
		// Returning would end the answer as if it were complete, and a client whose
		// server is being closed would take it for a good one.
		panic(http.ErrAbortHandler)
	}
}

// token returns the request's fencing token, zero if it has none.
func token(r *http.Request) lease.Token {
	n, err := strconv.ParseInt(r.Header.Get("Leasehold-Token"), 10, 64)
	if err != nil {
		return 0
	}
	return lease.Token(n)
}
