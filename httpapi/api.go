package httpapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"time"

	"leasehold/eventlog"
	"leasehold/lease"
	"leasehold/redisevents"
	"leasehold/session"
)

// Store is what the lease API goes through: the same scripts as the nodes.
type Store interface {
	lease.Store
	lease.Reader
	lease.Inspector
	lease.Asker
	session.Source
	session.Pager
	// List finds the nodes that are alive, sorted by name.
	List(ctx context.Context) ([]lease.Member, error)
	Results
}

// Results are those of the polls of the whole fleet, as events in JSON.
type Results interface {
	// HasResults reports whether they are kept at all.
	HasResults() bool
	// LastResult is the position behind the newest one.
	LastResult(ctx context.Context) (string, error)
	// Results waits a little for results behind a position, and returns the next one.
	Results(ctx context.Context, after string) (events []string, next string, err error)
}

// Leases is what the lease API needs.
type Leases struct {
	Store Store
	// TTL is that of leases whose document names none.
	TTL time.Duration
	// Defaults and CheckID say which documents can be used, as for the node.
	Defaults session.Defaults
	CheckID  func(id string) error
	// Token is the bearer token; empty: none. Without one the API answers only if
	// Loopback says that the server listens there.
	Token    string
	Loopback bool
	// Users may come with a password instead; nil: none.
	Users Users
	// Open lets everybody in, from everywhere, where there is neither token nor users.
	Open bool
	// Profiles serves those of package net/http/pprof to who may use the API.
	Profiles bool
	// Resource is one more name of the sessions, such as scenes; empty: none.
	Resource string
	Log      *eventlog.Log
	// Node says how the node is.
	Node func() Node

	// Follow opens a feed of hints, which wake those who wait for free sessions; nil:
	// there are none. Recheck is how often they are looked for without a hint.
	Follow  func(limit int) Feed
	Recheck time.Duration
	// Watch opens a feed that hears of leases that are taken too, and begins with a Gap;
	// nil: there are no changes to follow.
	Watch func(limit int) Feed
	// Stop is closed when the server is about to: nobody is kept waiting from then on.
	Stop <-chan struct{}
}

// Feed delivers hints of what happens in Redis: see [redisevents.Feed].
type Feed interface {
	Ready() <-chan struct{}
	Take() []redisevents.Event
	Close()
}

// sessions is the name of the sessions in paths.
const sessions = "sessions"

// root is what all paths of the API start with.
const root = "/api/"

// api answers what is under root.
type api struct {
	Leases

	ready   []Check
	guard   guard
	routes  []route
	work    *queue
	lists   *queue
	batches *queue
	vigils  map[session.Kind]*vigil // by the kind that is waited for; "": any
	changes *broadcast
}

func newAPI(l Leases, ready []Check) *api {
	a := &api{
		Leases:  l,
		ready:   ready,
		guard:   guard{token: l.Token, users: l.Users, loopback: l.Loopback, open: l.Open, origins: http.NewCrossOriginProtection()},
		work:    newQueue(workAtOnce, workAbreast, queueLimit),
		lists:   newQueue(listsAtOnce, listsAtOnce, queueLimit),
		batches: newQueue(batchesAtOnce, batchesAbreast, batchLimitOf(l.TTL)),
	}
	a.work.way = func(c *call) string { return a.wayTo(c.Context(), c.id) }
	a.routes = a.table()
	a.vigils = map[session.Kind]*vigil{"": newVigil(a, "")}
	for _, kind := range session.Kinds() {
		a.vigils[kind] = newVigil(a, kind)
	}
	a.changes = newBroadcast(a)

	return a
}

// answer is a body with its status, or a problem.
type answer struct {
	status  int
	body    any // nil: none
	next    string
	problem *problem
	written bool // already, as it came
}

func refuse(p *problem) answer { return answer{problem: p} }

// ServeHTTP implements [http.Handler].
func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	got := a.answer(w, r)
	switch {
	case got.written:
	case got.problem != nil:
		got.problem.write(w)
	case got.body == nil:
		w.Header().Set("Cache-Control", "no-store")
		w.WriteHeader(got.status)
	default:
		if got.next != "" {
			w.Header().Set("Link", "<"+got.next+`>; rel="next"`)
		}
		respondJSON(w, got.status, got.body)
	}
}

func (a *api) answer(w http.ResponseWriter, r *http.Request) (got answer) {
	defer func() {
		if p := recover(); p != nil {
			a.failed(p)
			got = refuse(newProblem(http.StatusInternalServerError, errInternal.Error(), ""))
		}
	}()
	if p := a.guard.admit(w, r); p != nil {
		return refuse(p)
	}
	c := &call{Request: r, writer: w}
	handle, p := a.find(c, w.Header())
	if p != nil {
		return refuse(p)
	}
	receive(r)

	return handle(c)
}

var errInternal = errors.New("internal error")

// guarded does what belongs to no request: a panic in it ends nothing else.
func (a *api) guarded(do func()) {
	defer func() {
		if p := recover(); p != nil {
			a.failed(p)
		}
	}()
	do()
}

// failed tells of a panic.
func (a *api) failed(reason any) {
	a.Log.Emit(eventlog.ActorFailed{Actor: "httpapi", Reason: fmt.Sprint(reason), Stack: string(debug.Stack())})
}
