package httpapi

import (
	"net/http"
	"slices"

	"leasehold/fleetview"
)

// route is one path of the API, behind [version], with one method, and what the
// description says of it.
type route struct {
	method, path string
	handle       handler

	name, summary string
	// in is what a request is made of, out the body of an answer by its status; nil:
	// none. The problems that any request can meet are not listed.
	in       any
	out      map[int]any
	problems []int
}

// table lists all routes. Where a path starts with sessions, it may start with the
// other resource name as well.
func (a *api) table() []route { return slices.Concat(a.fleetRoutes(), a.leaseRoutes()) }

// fleetRoutes are those of the nodes, the sessions, and what happens to them.
func (a *api) fleetRoutes() []route {
	const get, post = http.MethodGet, http.MethodPost
	const ok, accepted = http.StatusOK, http.StatusAccepted
	const malformed, gone, conflict, invalid = http.StatusBadRequest, http.StatusNotFound, http.StatusConflict, http.StatusUnprocessableEntity

	return []route{
		{
			get, "status", a.lists.pass(a.status), "status", "How the node that answers is",
			nil,
			map[int]any{ok: status{}},
			nil,
		},
		{
			get, "nodes", a.lists.pass(a.nodes), "listNodes", "The nodes that are alive, in the order of their names",
			pageInput{},
			map[int]any{ok: []member{}},
			[]int{malformed, invalid},
		},
		{
			get, "sessions", a.list, "listSessions",
			"All sessions, those that are leased, or those that are free to lease, which have session_id and version alone; " +
				"with wait, as soon as one is free",
			listInput{},
			map[int]any{ok: []listedSession{}},
			[]int{malformed, invalid},
		},
		{
			get, "sessions/{id}", a.work.pass(a.one), "getSession", "A session: its document without secrets, its lease and its polls",
			sessionInput{},
			map[int]any{ok: shownSession{}},
			[]int{gone},
		},
		{
			post, "sessions/{id}/run", a.work.pass(a.runNow), "runTask",
			"Have a task begun now, due or not; a run in flight goes on, and this one follows. 409: the session is no task, paused or external",
			sessionInput{},
			map[int]any{accepted: nil},
			[]int{gone, conflict},
		},
		{
			get, "events", a.events, "followChanges", "Changes of leases, nodes and polls as server-sent events",
			eventsInput{},
			map[int]any{ok: streamed("")},
			[]int{malformed, invalid},
		},
	}
}

// leaseRoutes are those of the leases.
func (a *api) leaseRoutes() []route {
	const get, post = http.MethodGet, http.MethodPost
	const ok, created, gone, conflict = http.StatusOK, http.StatusCreated, http.StatusNotFound, http.StatusConflict
	const malformed, large, invalid = http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity

	return []route{
		{
			get, "sessions/{id}/lease", a.work.pass(a.show), "getLease", "Who holds the lease. 404: nobody, or there is no such session",
			sessionInput{},
			map[int]any{ok: held{}},
			[]int{gone},
		},
		{
			post, "sessions/{id}/lease", a.work.pass(a.acquire), "acquireLease",
			"Take the lease. 200: the holder has it already, with the same version. 409: another has it",
			claimInput{},
			map[int]any{created: held{}, ok: held{}},
			[]int{malformed, gone, conflict, large, invalid},
		},
		{
			http.MethodDelete, "sessions/{id}/lease", a.work.pass(a.release), "releaseLease",
			"Give the lease back, whether or not it is still held. The holder may be named in a JSON body instead",
			releaseInput{},
			map[int]any{http.StatusNoContent: nil},
			[]int{malformed, large, invalid},
		},
		{
			post, "sessions/{id}/lease/renew", a.work.pass(a.renew), "renewLease", "Restart the lease's TTL. 404: it was lost, stop working",
			claimInput{},
			map[int]any{ok: held{}},
			[]int{malformed, gone, large, invalid},
		},
		{
			post, "leases/renew", a.renewMany, "renewLeases", "Renew up to 1000 leases, with an answer for each in their order",
			batchInput{},
			map[int]any{ok: batchAnswer{}},
			[]int{malformed, large, invalid},
		},
	}
}

type pageInput struct {
	Limit  int    `query:"limit" minimum:"1" maximum:"1000" default:"100"`
	Cursor string `query:"cursor" description:"From the Link header, rel=next, of the page before."`
}

type listInput struct {
	pageInput

	Leased string `query:"leased" enum:"true,false" description:"false: the sessions free to lease; none: all."`
	Kind   string `query:"kind" enum:"http,log,external" description:"Only sessions of this kind, with leased=false; a session that nodes poll is free for a moment as it moves."`
	Wait   string `query:"wait" description:"How long to wait for something free, from 0s to 60s, with leased=false and no cursor." example:"30s"`
}

type sessionInput struct {
	ID string `path:"id" minLength:"1" maxLength:"1536" description:"The session's ID, percent-encoded. It is never normalized: a/b and a%2Fb are two."`
}

type claimInput struct {
	sessionInput
	claim
}

type releaseInput struct {
	sessionInput

	HolderID string `query:"holder_id" minLength:"1" maxLength:"128"`
	Version  int64  `query:"version"`
}

type eventsInput struct {
	Types string `query:"types" description:"Some of lease, node and poll, with commas between; none: all." example:"lease,node"`
}

type batchInput struct {
	HolderID string         `json:"holder_id,omitempty" description:"The holder of each lease that names none."`
	Leases   []renewalInput `json:"leases" minItems:"1" maxItems:"1000"`
}

type renewalInput struct {
	SessionID string `json:"session_id"`
	HolderID  string `json:"holder_id,omitempty"`
	Version   *int64 `json:"version,omitempty"`
}

type batchAnswer struct {
	Leases []renewalAnswer `json:"leases"`
}

// renewalAnswer has the fields of a lease where the status is 200, else the problem.
type renewalAnswer struct {
	SessionID string   `json:"session_id"`
	Status    int      `json:"status"`
	HolderID  string   `json:"holder_id,omitempty"`
	Version   int64    `json:"version,omitempty"`
	ExpiresAt *stamp   `json:"expires_at,omitempty"`
	Problem   *problem `json:"problem,omitempty"`
}

// shownSession is a session as it is under its ID.
type shownSession struct {
	SessionID string `json:"session_id"`
	fleetview.View
}

// listedSession is a session in a list: of one that is free to lease, where only those
// are asked for, the ID and the version.
type listedSession struct {
	SessionID string `json:"session_id"`
	Version   int64  `json:"version"`

	Kind      string         `json:"kind,omitempty"`
	Paused    bool           `json:"paused,omitempty"`
	Problem   string         `json:"problem,omitempty"`
	HolderID  *string        `json:"holder_id" required:"false"`
	HeldSince *stamp         `json:"held_since" required:"false"`
	ExpiresAt *stamp         `json:"expires_at" required:"false"`
	TTL       *int64         `json:"ttl_ms" required:"false"`
	NextRun   *stamp         `json:"next_run" required:"false"`
	LastRun   *fleetview.Run `json:"last_run" required:"false"`
	Failures  int            `json:"failures,omitempty"`
}

// streamed is a body of server-sent events.
type streamed string
