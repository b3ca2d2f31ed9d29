package session

import (
	"context"
	"errors"
	"time"

	"leasehold/schedule"
)

// Kind says who works on a session, and how.
type Kind string

// The kinds of sessions.
const (
	HTTP     Kind = "http"     // polled with an HTTP request
	Log      Kind = "log"      // writes one log line a run
	External Kind = "external" // never polled by a node
)

// Kinds returns all kinds.
func Kinds() []Kind { return []Kind{HTTP, Log, External} }

// OnFailure says what a holder does with the lease after a failed poll.
type OnFailure string

// What can be done with the lease of a session whose poll failed.
const (
	Keep    OnFailure = "keep"
	Release OnFailure = "release"
)

// Misfire says what becomes of a task's slot that nobody served in time.
type Misfire string

// What can be done with a slot that nobody served in time.
const (
	Once Misfire = "once" // it is served late, however many were missed
	Skip Misfire = "skip" // the next one is waited for
)

// Session is one poll target, decoded and checked. It is never changed after
// Decode returned it, so it may be shared between goroutines.
type Session struct {
	ID   string
	Kind Kind

	URL     string
	Method  string
	Headers map[string]string
	Body    string
	Expect  Expect
	// KeepBody is how many bytes of an answer go into the result.
	KeepBody int

	Interval  time.Duration
	Timeout   time.Duration
	LeaseTTL  time.Duration // zero: the node's own
	OnFailure OnFailure
	// Misfire makes the session a task; empty: it is none.
	Misfire Misfire
	// Calendar has the slots of a task with a cron expression, nil without. Interval is
	// then the shortest time between two.
	Calendar *schedule.Calendar
	Paused   bool
	Labels   map[string]string

	// Fingerprint is the hash of the document's bytes: equal documents, equal
	// fingerprints.
	Fingerprint uint64
}

// Pollable reports whether nodes poll the session at present.
func (s Session) Pollable() bool {
	return s.Kind != External && !s.Paused
}

// Task reports whether the session is a task: its slot stays due until a run of it was
// recorded, where a poll's is given up if the poll dies.
func (s Session) Task() bool { return s.Misfire != "" }

// Policy is the rhythm that the session wants.
func (s Session) Policy() schedule.Policy {
	return schedule.Policy{ID: s.ID, Interval: s.Interval, Calendar: s.Calendar}
}

// Expect says which answers count as success.
type Expect struct {
	Status       []int // empty: 200 to 299
	BodyContains string
}

// Defaults fill what a document does not name.
type Defaults struct {
	Interval time.Duration
	Timeout  time.Duration
}

// Document is a session as stored. Raw is nil where there is no document.
type Document struct {
	ID  string
	Raw []byte
	// Err is set when the key has another type than a string.
	Err error
	// Unread is why nothing else is known of the document but its ID.
	Unread error
}

// Source reads the stored documents.
type Source interface {
	// Scan calls each with the documents in batches. A document may come twice. However
	// many there are, it ends when a round trip takes too long. With an error there may
	// be others.
	Scan(ctx context.Context, each func([]Document)) error
	// Get reads the documents named, in their order; absent ones with Raw nil. With an
	// error those that could be read come all the same, or none.
	Get(ctx context.Context, ids []string) ([]Document, error)
}

// Placer is a Source over several servers that fail apart.
type Placer interface {
	// DocumentPlace names the server that has a document, as far as is known without
	// asking. That of a session's lease may be another.
	DocumentPlace(ctx context.Context, id string) string
}

// PlaceOf returns the place of a document; that of a source over one server is empty.
func PlaceOf(ctx context.Context, source Source, id string) string {
	if p, ok := source.(Placer); ok {
		return p.DocumentPlace(ctx, id)
	}

	return ""
}

// ErrCursor says that a cursor is none that a listing gave.
var ErrCursor = errors.New("not a cursor of this listing")

// Pager lists the stored documents step by step, without holding all.
type Pager interface {
	// Page returns the IDs of the step at cursor, which begins empty, and the cursor
	// of the next step, empty after the last. Count is about how many keys the step
	// looks at; it may find no ID, or more. An ID may come twice; one that is there
	// all the time comes. It answers ErrCursor for a cursor that it did not give.
	Page(ctx context.Context, cursor string, count int) (ids []string, next string, err error)
}
