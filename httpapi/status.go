package httpapi

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"leasehold/lease"
)

// Node is what the node says of itself.
type Node struct {
	InstanceID string
	// Build is the program's version.
	Build   string
	Started time.Time
	// Leases is how many sessions it holds now.
	Leases int
	// Events says why events of Redis can't be relied on; empty: they can.
	Events string
}

// status is a node, and how many there are.
type status struct {
	InstanceID string `json:"instance_id"`
	Build      string `json:"build"`
	StartedAt  stamp  `json:"started_at"`
	// Ready and Failed are what /readyz says.
	Ready  bool              `json:"ready"`
	Failed map[string]string `json:"failed,omitempty"`
	Leases int               `json:"leases"`
	Events eventStatus       `json:"events"`
	// Nodes is how many are alive; null: unknown.
	Nodes *int `json:"nodes"`
}

type eventStatus struct {
	Healthy bool   `json:"healthy"`
	Problem string `json:"problem,omitempty"`
}

// status answers how the node that was asked is, also without Redis.
func (a *api) status(r *call) answer {
	n := a.Node()
	failed := failures(r.Context(), a.ready)
	body := status{
		InstanceID: n.InstanceID, Build: n.Build, StartedAt: stamp(n.Started),
		Ready: len(failed) == 0, Failed: failed, Leases: n.Leases,
		Events: eventStatus{Healthy: n.Events == "", Problem: n.Events},
	}
	if members, err := a.Store.List(r.Context()); err == nil {
		body.Nodes = new(len(members))
	}

	return answer{status: http.StatusOK, body: body}
}

// member is a node that is alive.
type member struct {
	InstanceID string `json:"instance_id"`
	// ExpiresAt is when its heartbeat ends without another.
	ExpiresAt *stamp `json:"expires_at"`
	// Self marks the node that answers.
	Self bool `json:"self"`
	// Cordon is cordoned or drained where an operator wants it to take no sessions.
	Cordon lease.Cordon `json:"cordon,omitempty"`
}

// nodes answers which nodes are alive, in the order of their names. A cursor is the
// last name of the page before.
func (a *api) nodes(r *call) answer {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return refuse(badQuery(err))
	}
	limit, p := readLimit(query)
	if p != nil {
		return refuse(p)
	}
	last, err := base64.RawURLEncoding.DecodeString(query.Get("cursor"))
	if err != nil {
		return refuse(badCursor())
	}
	sent := time.Now()
	members, err := a.Store.List(r.Context())
	if err != nil {
		return refuse(unknown(err))
	}
	from, found := slices.BinarySearchFunc(members, string(last), func(m lease.Member, name string) int {
		return strings.Compare(m.Instance, name)
	})
	if found {
		from++
	}
	page := members[from:min(from+limit, len(members))]
	body := make([]member, len(page))
	for i, m := range page {
		body[i] = member{InstanceID: m.Instance, ExpiresAt: after(sent, m.Remaining), Self: m.Instance == a.Node().InstanceID, Cordon: m.Cordon}
	}
	got := answer{status: http.StatusOK, body: body}
	if from+limit < len(members) {
		got.follow(r, query, base64.RawURLEncoding.EncodeToString([]byte(page[limit-1].Instance)))
	}

	return got
}
