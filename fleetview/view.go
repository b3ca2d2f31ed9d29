package fleetview

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"leasehold/lease"
	"leasehold/session"
)

// Stamp is a time in RFC 3339 with milliseconds, UTC, rounded down.
type Stamp time.Time

// MarshalText implements [encoding.TextMarshaler].
func (s Stamp) MarshalText() ([]byte, error) {
	return []byte(time.Time(s).UTC().Format("2006-01-02T15:04:05.000Z07:00")), nil
}

// After is the time so long after a request was sent: Redis counts from when it
// arrived.
func After(sent time.Time, d time.Duration) *Stamp {
	s := Stamp(sent.Add(d))

	return &s
}

// View is a session as it is shown, without its ID.
type View struct {
	Kind   session.Kind `json:"kind,omitempty"`
	Paused bool         `json:"paused"`
	// Problem says why nobody can use the session.
	Problem string `json:"problem,omitempty"`

	// HolderID is null while the lease is free; Version is the last one then.
	HolderID *string `json:"holder_id"`
	Version  int64   `json:"version"`
	// HeldSince is when the holder got the lease, by the clock of the Redis server.
	HeldSince *Stamp `json:"held_since"`
	// ExpiresAt and TTL are null where the lease is free, or has no expiry.
	ExpiresAt *Stamp `json:"expires_at"`
	TTL       *int64 `json:"ttl_ms"`

	NextRun  *Stamp `json:"next_run"`
	LastRun  *Run   `json:"last_run"`
	Failures int    `json:"failures"`

	Document map[string]json.RawMessage `json:"document,omitempty"`
}

// Run is the last poll that ended, by the clock of the Redis server.
type Run struct {
	StartedAt  Stamp  `json:"started_at"`
	DurationMS int64  `json:"duration_ms"`
	OK         bool   `json:"ok"`
	Class      string `json:"class"`
	Error      string `json:"error,omitempty"`
	Status     int    `json:"status,omitempty"`
	Bytes      int64  `json:"bytes"`
}

// Failure is the class and the error of a poll that failed; empty: it did not.
func (r *Run) Failure() string {
	switch {
	case r == nil || r.OK:
		return ""
	case r.Error == "":
		return r.Class
	}

	return r.Class + ": " + r.Error
}

// Rules say which documents can be used, as for the nodes.
type Rules struct {
	Defaults session.Defaults
	// CheckID says why an ID can't be used; nil: any valid one can.
	CheckID func(id string) error
}

// Read reads a document that is there.
func (r Rules) Read(d session.Document) (session.Session, error) {
	if d.Err != nil {
		return session.Session{}, d.Err
	}
	if r.CheckID != nil {
		if err := r.CheckID(d.ID); err != nil {
			return session.Session{}, err
		}
	}

	return session.Decode(d.ID, d.Raw, r.Defaults)
}

// Look puts together what was read of a session whose document is there. The
// inspection was asked for at sent. The error says that its lease is unknown.
func (r Rules) Look(d session.Document, in lease.Inspection, sent time.Time) (Session, error) {
	s := Session{ID: d.ID, Raw: d.Raw, Lease: in, Sent: sent}
	switch {
	case errors.Is(in.Err, lease.ErrForeign):
		s.Problem = in.Err.Error()
	case in.Err != nil:
		return s, in.Err
	}
	doc, err := r.Read(d)
	if err == nil {
		s.Spec = doc

		return s, nil
	}
	s.Spec.ID = d.ID
	if s.Problem == "" {
		s.Problem = fmt.Sprintf("its document can't be used: %v", err)
	}

	return s, nil
}

// Session is all that was read of one.
type Session struct {
	ID string
	// Raw is its document as it is stored.
	Raw []byte
	// Spec is its document, decoded; where that can't be used it has the ID alone.
	Spec session.Session
	// Problem says why nobody can use the session; empty: it can be used.
	Problem string
	Lease   lease.Inspection
	// Stopping says that its holder is a node that waits for its last polls: see
	// [Reader.Stopping].
	Stopping bool
	// Sent is when it was asked for.
	Sent time.Time
}

// Barred reports whether nodes are to poll the session and none can: a key of another type
// lies where its lease or state belongs.
func (s Session) Barred() bool {
	return errors.Is(s.Lease.Err, lease.ErrForeign) && s.Spec.Kind != "" && s.Spec.Pollable()
}

// View returns the session as it is shown, without its document.
func (s Session) View() View {
	in := s.Lease
	v := View{Kind: s.Spec.Kind, Paused: s.Spec.Paused, Problem: s.Problem}
	if in.Err != nil {
		return v
	}
	v.Version, v.Failures = int64(in.Token), in.Failures
	if in.Holder != "" {
		v.HolderID = &in.Holder
		if !in.Since.IsZero() {
			v.HeldSince = After(in.Since, 0)
		}
		if in.Remaining != lease.NoExpiry {
			v.ExpiresAt, v.TTL = After(s.Sent, in.Remaining), new(in.Remaining.Milliseconds())
		}
	}
	if !in.Next.IsZero() {
		v.NextRun = After(in.Next, 0)
	}
	if r := in.Last; r != nil {
		v.LastRun = &Run{
			StartedAt: Stamp(r.Started), DurationMS: r.Duration.Milliseconds(),
			OK: r.OK, Class: r.Class, Error: r.Error, Status: r.Status, Bytes: r.Bytes,
		}
	}

	return v
}

// Runnable says why no node runs the session when it is asked for; empty: one does.
func Runnable(s session.Session) string {
	switch {
	case s.Kind == session.External:
		return "it is external: no node runs it"
	case s.Paused:
		return "it is paused"
	case !s.Task():
		return "it is no task: its document names neither misfire nor cron"
	}

	return ""
}
