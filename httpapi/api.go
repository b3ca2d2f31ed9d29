package httpapi

import (
	"fmt"
	"net/http"
	"net/url"
	"runtime/debug"
	"strings"
	"time"

	"leasehold/eventlog"
	"leasehold/lease"
	"leasehold/session"
)

// Store is what the lease API goes through: the same scripts as the nodes.
type Store interface {
	lease.Store
	lease.Reader
	session.Source
	session.Pager
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
	// Resource is one more name of the sessions, such as scenes; empty: none.
	Resource string
	Log      *eventlog.Log
}

// sessions is the name of the sessions in paths.
const sessions = "sessions"

// root is what all paths of the API start with.
const root = "/api/"

// api answers what is under root.
type api struct {
	Leases

	guard       guard
	work, lists queue
}

func newAPI(l Leases) *api {
	return &api{
		Leases: l,
		guard:  guard{token: l.Token, loopback: l.Loopback, origins: http.NewCrossOriginProtection()},
		work:   make(queue, workAtOnce),
		lists:  make(queue, listsAtOnce),
	}
}

// methods are what one path answers to.
type methods map[string]func(*http.Request) answer

// answer is a body with its status, or a problem.
type answer struct {
	status  int
	body    any // nil: none
	next    string
	problem *problem
}

func refuse(p *problem) answer { return answer{problem: p} }

// ServeHTTP implements [http.Handler].
func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	got := a.answer(r, w.Header())
	switch {
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

func (a *api) answer(r *http.Request, header http.Header) (got answer) {
	defer func() {
		if p := recover(); p != nil {
			a.Log.Emit(eventlog.ActorFailed{Actor: "httpapi", Reason: fmt.Sprint(p), Stack: string(debug.Stack())})
			got = refuse(newProblem(http.StatusInternalServerError, "internal error", ""))
		}
	}()
	if p := a.guard.check(r); p != nil {
		if p.Status == http.StatusUnauthorized {
			header.Set("WWW-Authenticate", "Bearer")
		}

		return refuse(p)
	}
	allowed := a.route(r.URL.EscapedPath())
	if allowed == nil {
		return refuse(newProblem(http.StatusNotFound, "no such route", ""))
	}
	method := r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	handle, ok := allowed[method]
	if !ok {
		header.Set("Allow", allowed.names())

		return refuse(newProblem(http.StatusMethodNotAllowed, "no such method", "this path answers to "+allowed.names()))
	}

	receive(r)

	return handle(r)
}

func (m methods) names() string {
	var names []string
	for _, name := range []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodDelete} {
		if m[name] != nil || name == http.MethodHead && m[http.MethodGet] != nil {
			names = append(names, name)
		}
	}

	return strings.Join(names, ", ")
}

// route finds a path as it was sent: it is neither cleaned nor decoded, since an ID
// may be "..", or have slashes in it.
func (a *api) route(path string) methods {
	part := strings.Split(strings.TrimPrefix(path, root+"v1/"), "/")
	if !strings.HasPrefix(path, root+"v1/") {
		return nil
	}
	if len(part) == 2 && part[0] == "leases" && part[1] == "renew" {
		return methods{http.MethodPost: a.work.pass(a.renewMany)}
	}
	if part[0] != sessions && (a.Resource == "" || part[0] != a.Resource) {
		return nil
	}
	switch {
	case len(part) == 1:
		return methods{http.MethodGet: a.lists.pass(func(r *http.Request) answer { return a.list(r, idField(part[0])) })}
	case len(part) == 3 && part[2] == "lease":
		return a.leaseMethods(part[1])
	case len(part) == 4 && part[2] == "lease" && part[3] == "renew":
		return methods{http.MethodPost: a.forID(part[1], a.renew)}
	}

	return nil
}

func (a *api) leaseMethods(segment string) methods {
	return methods{
		http.MethodGet:    a.forID(segment, a.show),
		http.MethodPost:   a.forID(segment, a.acquire),
		http.MethodDelete: a.forID(segment, a.release),
	}
}

// forID calls handle, in its turn, with the ID of a path's segment, decoded once.
func (a *api) forID(segment string, handle func(*http.Request, string) answer) func(*http.Request) answer {
	return a.work.pass(func(r *http.Request) answer {
		id, err := url.PathUnescape(segment)
		if err != nil { // the server has refused such a path already
			return refuse(noSession(err.Error()))
		}

		return handle(r, id)
	})
}

// idField is the name of a session's ID in bodies: session_id for sessions.
func idField(resource string) string { return strings.TrimSuffix(resource, "s") + "_id" }
