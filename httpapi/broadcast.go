package httpapi

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"leasehold/lease"
	"leasehold/redisevents"
)

// leaseView is a lease that has changed.
type leaseView struct {
	SessionID string `json:"session_id"`
	// HolderID and ExpiresAt are null where the lease is free.
	HolderID  *string `json:"holder_id"`
	Version   int64   `json:"version"`
	ExpiresAt *stamp  `json:"expires_at"`
}

// nodeView is a node that has come or gone.
type nodeView struct {
	InstanceID string `json:"instance_id"`
	Alive      bool   `json:"alive"`
}

// gapView says why changes may have been missed.
type gapView struct {
	Reason string `json:"reason"`
}

// broadcast passes changes on to all who listen. It works only while somebody does:
// one feed of hints, one look at what they are about, and one reader of results serve
// all of them.
type broadcast struct {
	api *api

	mu        sync.Mutex
	listening map[*listener]struct{}
	stop      context.CancelFunc
	ready     bool // the first gap was told
}

func newBroadcast(a *api) *broadcast {
	return &broadcast{api: a, listening: map[*listener]struct{}{}}
}

// join lets one listen, unless too many do. Whoever comes while others listen misses
// nothing from now on.
func (b *broadcast) join(ctx context.Context, l *listener) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.listening) >= mostListening {
		return false
	}
	b.listening[l] = struct{}{}
	if b.stop == nil {
		ctx, b.stop = context.WithCancel(context.WithoutCancel(ctx))
		b.ready = false
		b.start(ctx)
	} else if b.ready {
		l.offer(encode(gapChange, gapView{Reason: "joined"}))
	}

	return true
}

func (b *broadcast) start(ctx context.Context) {
	if b.api.Watch != nil {
		go b.follow(ctx, b.api.Watch(mostHints))
	}
	if b.api.Store.HasResults() {
		go b.results(ctx)
	}
}

func (b *broadcast) leave(l *listener) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.listening, l)
	if len(b.listening) == 0 {
		b.stop()
		b.stop = nil
	}
}

// send offers one change to all.
func (b *broadcast) send(kind string, body any) { b.pass(encode(kind, body)) }

func (b *broadcast) pass(m message) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ready = b.ready || m.kind == gapChange
	for l := range b.listening {
		l.offer(m)
	}
}

func encode(kind string, body any) message {
	data, err := json.Marshal(body)
	if err != nil { // strings, numbers and times only: can't be
		data = []byte("{}")
	}

	return message{kind: kind, data: data}
}

// follow turns hints into changes.
func (b *broadcast) follow(ctx context.Context, feed Feed) {
	defer feed.Close()
	var nodes map[string]bool
	for {
		select {
		case <-ctx.Done():
			return
		case <-feed.Ready():
			b.api.guarded(func() { nodes = b.onHints(ctx, feed.Take(), nodes) })
		}
	}
}

// onHints looks at what hints are about, and tells what is there now. It returns which
// nodes are alive.
func (b *broadcast) onHints(ctx context.Context, hints []redisevents.Event, nodes map[string]bool) map[string]bool {
	var leases []string
	for _, h := range hints {
		switch h := h.(type) {
		case redisevents.LeaseFreed:
			leases = append(leases, h.Session)
		case redisevents.LeaseTaken:
			leases = append(leases, h.Session)
		case redisevents.NodeSeen:
			nodes = b.node(nodes, h.Instance, true)
		case redisevents.NodeGone:
			nodes = b.node(nodes, h.Instance, false)
		case redisevents.Gap:
			b.send(gapChange, gapView{Reason: h.Reason})
			nodes = b.list(ctx, nodes)
		case redisevents.NodeMarked, redisevents.SessionTouched:
		}
	}
	b.leases(ctx, leases)

	return nodes
}

// leases tells how leases are now. What can't be read is told when there are hints of
// it again.
func (b *broadcast) leases(ctx context.Context, ids []string) {
	sent := time.Now()
	for _, rec := range b.api.Store.Read(ctx, unique(ids)) {
		if rec.Err != nil {
			continue
		}
		v := leaseView{SessionID: rec.Session, Version: int64(rec.Token)}
		if rec.Holder != "" {
			v.HolderID = &rec.Holder
			if rec.Remaining != lease.NoExpiry {
				v.ExpiresAt = after(sent, rec.Remaining)
			}
		}
		b.send(leaseChange, v)
	}
}

// list compares the nodes with those that were known, if any were.
func (b *broadcast) list(ctx context.Context, known map[string]bool) map[string]bool {
	members, err := b.api.Store.List(ctx)
	if err != nil { // the next gap comes when Redis is back
		return known
	}
	alive := map[string]bool{}
	for _, m := range members {
		alive[m.Instance] = true
		if known != nil && !known[m.Instance] {
			b.send(nodeChange, nodeView{InstanceID: m.Instance, Alive: true})
		}
	}
	for name := range known {
		if !alive[name] {
			b.send(nodeChange, nodeView{InstanceID: name})
		}
	}

	return alive
}

// node tells of a node whose state is new.
func (b *broadcast) node(known map[string]bool, name string, alive bool) map[string]bool {
	switch {
	case known == nil || known[name] == alive:
		return known
	case alive:
		known[name] = true
	default:
		delete(known, name)
	}
	b.send(nodeChange, nodeView{InstanceID: name, Alive: alive})

	return known
}

// results passes on the results of polls from now on.
func (b *broadcast) results(ctx context.Context) {
	pause := time.NewTimer(0)
	defer pause.Stop()
	for after := ""; ; {
		select {
		case <-ctx.Done():
			return
		case <-pause.C:
		}
		again := leastPause
		b.api.guarded(func() {
			var err error
			if after, err = b.moreResults(ctx, after); err == nil {
				again = 0
			}
		})
		pause.Reset(again)
	}
}

func (b *broadcast) moreResults(ctx context.Context, after string) (string, error) {
	if after == "" {
		return b.api.Store.LastResult(ctx)
	}
	events, next, err := b.api.Store.Results(ctx, after)
	for _, e := range events {
		b.pass(message{kind: pollChange, data: []byte(e)})
	}

	return next, err
}
