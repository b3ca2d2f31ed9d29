package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"leasehold/lease"
	"leasehold/session"
)

// sessionView is a session as the API shows it, without its ID.
type sessionView struct {
	Kind   session.Kind `json:"kind,omitempty"`
	Paused bool         `json:"paused"`
	// Problem says why nobody can use the session.
	Problem string `json:"problem,omitempty"`

	// HolderID is null while the lease is free; Version is the last one then.
	HolderID *string `json:"holder_id"`
	Version  int64   `json:"version"`
	// HeldSince is when the holder got the lease, by the clock of the Redis server.
	HeldSince *stamp `json:"held_since"`
	// ExpiresAt and TTL are null where the lease is free, or has no expiry.
	ExpiresAt *stamp `json:"expires_at"`
	TTL       *int64 `json:"ttl_ms"`

	NextRun  *stamp `json:"next_run"`
	LastRun  *run   `json:"last_run"`
	Failures int    `json:"failures"`

	Document map[string]json.RawMessage `json:"document,omitempty"`
}

// run is the last poll that ended, by the clock of the Redis server.
type run struct {
	StartedAt  stamp  `json:"started_at"`
	DurationMS int64  `json:"duration_ms"`
	OK         bool   `json:"ok"`
	Class      string `json:"class"`
	Error      string `json:"error,omitempty"`
	Status     int    `json:"status,omitempty"`
	Bytes      int64  `json:"bytes"`
}

// named puts a session's ID, under the name that the resource gives it, before what is
// said of the session.
type named struct {
	resource, id string
	rest         any
}

// MarshalJSON implements [json.Marshaler].
func (n named) MarshalJSON() ([]byte, error) {
	id, err := json.Marshal(map[string]string{idField(n.resource): n.id})
	if err != nil {
		return nil, err
	}
	rest, err := json.Marshal(n.rest)
	if err != nil {
		return nil, err
	}
	id[len(id)-1] = ','

	return append(id, rest[1:]...), nil
}

// views describes those of the sessions that are there.
func (a *api) views(ctx context.Context, resource string, ids []string) ([]named, error) {
	docs, err := a.Store.Get(ctx, ids)
	if err != nil {
		return nil, err
	}
	sent := time.Now()
	list := make([]named, 0, len(ids))
	for i, in := range a.Store.Inspect(ctx, ids) {
		if docs[i].Raw == nil && docs[i].Err == nil {
			continue
		}
		v, err := a.view(docs[i], in, sent)
		if err != nil {
			return nil, err
		}
		list = append(list, named{resource: resource, id: ids[i], rest: v})
	}

	return list, nil
}

func (a *api) view(d session.Document, in lease.Inspection, sent time.Time) (sessionView, error) {
	var v sessionView
	s, err := a.read(d)
	if err != nil {
		v.Problem = fmt.Sprintf("its document can't be used: %v", err)
	} else {
		v.Kind, v.Paused = s.Kind, s.Paused
	}
	switch {
	case errors.Is(in.Err, lease.ErrForeign):
		v.Problem = in.Err.Error()

		return v, nil
	case in.Err != nil:
		return v, in.Err
	}
	v.Version, v.Failures = int64(in.Token), in.Failures
	if in.Holder != "" {
		v.HolderID = &in.Holder
		if !in.Since.IsZero() {
			v.HeldSince = after(in.Since, 0)
		}
		if in.Remaining != lease.NoExpiry {
			v.ExpiresAt, v.TTL = after(sent, in.Remaining), new(in.Remaining.Milliseconds())
		}
	}
	if !in.Next.IsZero() {
		v.NextRun = after(in.Next, 0)
	}
	if r := in.Last; r != nil {
		v.LastRun = &run{
			StartedAt: stamp(r.Started), DurationMS: r.Duration.Milliseconds(),
			OK: r.OK, Class: r.Class, Error: r.Error, Status: r.Status, Bytes: r.Bytes,
		}
	}

	return v, nil
}

// document reads the session's document, which is there.
func (a *api) document(r *call) (session.Document, *problem) {
	if err := session.ValidID(r.id); err != nil {
		return session.Document{}, noSession(err.Error())
	}
	docs, err := a.Store.Get(r.Context(), []string{r.id})
	switch {
	case err != nil:
		return session.Document{}, unknown(err)
	case docs[0].Raw == nil && docs[0].Err == nil:
		return session.Document{}, noSession("")
	}

	return docs[0], nil
}

// one answers all that is known of a session.
func (a *api) one(r *call) answer {
	doc, p := a.document(r)
	if p != nil {
		return refuse(p)
	}
	sent := time.Now()
	v, err := a.view(doc, a.Store.Inspect(r.Context(), []string{r.id})[0], sent)
	if err != nil {
		return refuse(unknown(err))
	}
	// What can't be read is not shown; the view has said why.
	v.Document, _ = session.Shown(doc.Raw)

	return answer{status: http.StatusOK, body: named{resource: r.resource, id: r.id, rest: v}}
}
