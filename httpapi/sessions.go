package httpapi

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"leasehold/session"
)

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
		s, err := a.rules().Look(docs[i], in, sent)
		if err != nil {
			return nil, err
		}
		list = append(list, named{resource: resource, id: ids[i], rest: s.View()})
	}

	return list, nil
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
	s, err := a.rules().Look(doc, a.Store.Inspect(r.Context(), []string{r.id})[0], sent)
	if err != nil {
		return refuse(unknown(err))
	}
	v := s.View()
	// What can't be read is not shown; the view has said why.
	v.Document, _ = session.Shown(doc.Raw)

	return answer{status: http.StatusOK, body: named{resource: r.resource, id: r.id, rest: v}}
}
