package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"leasehold/eventlog"
	"leasehold/lease"
)

// maxBatch is how many leases one request may renew.
const maxBatch = 1000

// renewal is one lease to be renewed, and its answer.
type renewal struct {
	claim

	id      string
	grant   lease.Grant
	target  target
	body    held
	problem *problem
}

// renew renews one lease.
func (a *api) renew(r *call) answer {
	c, p := readClaim(r.Request)
	if p != nil {
		return refuse(p)
	}
	one := &renewal{claim: c, id: r.id}
	a.renewAll(r.Context(), []*renewal{one})
	if one.problem != nil {
		return refuse(one.problem)
	}

	return answer{status: http.StatusOK, body: one.body}
}

// batch is the body of a request that renews many. The holder beside the list is
// that of each that names none.
type batch struct {
	HolderID string            `json:"holder_id"`
	Leases   []json.RawMessage `json:"leases"`
}

// renewMany renews many leases in one go, with an answer for each, in their order.
func (a *api) renewMany(r *call) answer {
	var b batch
	if p := readBody(r.Request, batchLimit, &b); p != nil {
		return refuse(p)
	}
	if n := len(b.Leases); n == 0 || n > maxBatch {
		return refuse(unprocessable(fmt.Sprintf("leases must be a list of 1 to %d, has %d", maxBatch, n)))
	}
	all, fields := make([]*renewal, len(b.Leases)), make([]string, len(b.Leases))
	for i, text := range b.Leases {
		all[i], fields[i] = a.readRenewal(text, b.HolderID)
	}
	if p := a.renewAbreast(r, all); p != nil {
		return refuse(p)
	}
	answers := make([]map[string]any, len(all))
	for i, n := range all {
		answers[i] = n.answer(fields[i])
	}

	return answer{status: http.StatusOK, body: map[string]any{"leases": answers}}
}

// readRenewal reads one of many. It returns the name of its ID too, which is that of
// the alias where the request says so.
func (a *api) readRenewal(text []byte, holder string) (n *renewal, field string) {
	n, field = &renewal{}, idField(sessions)
	var ids map[string]json.RawMessage
	if n.problem = decode(text, &n.claim); n.problem != nil {
		return n, field
	}
	if n.problem = decode(text, &ids); n.problem != nil {
		return n, field
	}
	if alias := idField(a.Resource); a.Resource != "" && ids[alias] != nil {
		field = alias
	}
	if err := json.Unmarshal(ids[field], &n.id); err != nil || n.id == "" {
		n.problem = unprocessable(field + " must be a string that is not empty")

		return n, field
	}
	if n.HolderID == "" {
		n.HolderID = holder
	}
	n.problem = n.check()

	return n, field
}

// answer is the renewal's part of the answer to many.
func (n *renewal) answer(field string) map[string]any {
	if n.problem != nil {
		return map[string]any{field: n.id, "status": n.problem.Status, "problem": n.problem}
	}

	return map[string]any{
		field: n.id, "status": http.StatusOK,
		"holder_id": n.body.HolderID, "version": n.body.Version, "expires_at": n.body.ExpiresAt,
	}
}

// renewAbreast renews the leases that nothing speaks against, those of each way by
// themselves when it is their turn. Where that fails for one way it is the answer for its
// leases; where it does for all, the one that is returned.
func (a *api) renewAbreast(r *call, all []*renewal) *problem {
	ways := map[string][]*renewal{}
	for _, n := range open(all) {
		way := a.wayTo(r.Context(), n.id)
		ways[way] = append(ways[way], n)
	}
	r.grantTime(a.batches.limit)
	failed := make(chan *problem, len(ways))
	var parts sync.WaitGroup
	for way, part := range ways {
		parts.Go(func() {
			if p := a.renewPart(r.Context(), way, part); p != nil {
				failed <- p
			}
		})
	}
	parts.Wait()
	if len(failed) < len(ways) {
		return nil
	}
	var worst *problem // what nothing was done of may be asked for again: a fault may not
	for range ways {
		if p := <-failed; worst == nil || p.Status == http.StatusInternalServerError {
			worst = p
		}
	}

	return worst
}

// renewPart renews the leases of one way. It returns why there was no turn, or no end.
func (a *api) renewPart(ctx context.Context, way string, part []*renewal) *problem {
	p := newProblem(http.StatusInternalServerError, errInternal.Error(), "")
	a.guarded(func() {
		back, ok := a.batches.take(ctx, way)
		if !ok {
			p = busy()

			return
		}
		defer back()
		a.renewAll(ctx, part)
		p = nil
	})
	for _, n := range open(part) {
		if n.body.HolderID == "" { // neither renewed nor refused
			n.problem = p
		}
	}

	return p
}

// renewAll renews the leases that nothing speaks against, in the fewest calls, one after
// the other where each needs what the one before has found.
func (a *api) renewAll(ctx context.Context, all []*renewal) {
	all = open(all)
	unnamed := nameGrants(all)
	var reading sync.WaitGroup
	var records []lease.Record
	reading.Go(func() { a.guarded(func() { records = a.Store.Read(ctx, idsOf(unnamed)) }) })
	a.judge(ctx, all)
	reading.Wait()
	findTokens(unnamed, records)
	var good, bad []*renewal
	for _, n := range open(all) {
		if n.target.fault != nil {
			bad = append(bad, n)
		} else {
			good = append(good, n)
		}
	}
	a.extend(ctx, good)
	a.revoke(ctx, bad)
}

// open returns the renewals without an answer yet.
func open(all []*renewal) []*renewal {
	var left []*renewal
	for _, n := range all {
		if n.problem == nil {
			left = append(left, n)
		}
	}

	return left
}

func idsOf(all []*renewal) []string {
	ids := make([]string, len(all))
	for i, n := range all {
		ids[i] = n.id
	}

	return ids
}

// judge reads the documents: they name the TTLs, and say what may not go on. Where one
// could not be read, nothing is done to its lease alone.
func (a *api) judge(ctx context.Context, all []*renewal) {
	for i, t := range a.targets(ctx, idsOf(all)) {
		all[i].target = t
		if t.unread != nil {
			all[i].problem = unknown(t.unread)
		}
	}
}

// nameGrants says which grants are meant, and returns those that name no token.
func nameGrants(all []*renewal) (unnamed []*renewal) {
	for _, n := range all {
		n.grant = lease.Grant{Session: n.id, Holder: n.HolderID}
		if n.Version == nil {
			unnamed = append(unnamed, n)

			continue
		}
		n.grant.Token = lease.Token(*n.Version)
	}

	return unnamed
}

// findTokens takes the tokens of those that name none from their records. From then on
// exactly that grant is meant: what changes in between is lost.
func findTokens(unnamed []*renewal, records []lease.Record) {
	for i, n := range unnamed {
		rec := lease.Record{Err: errInternal}
		if i < len(records) {
			rec = records[i]
		}
		switch {
		case n.problem != nil:
		case errors.Is(rec.Err, lease.ErrForeign):
			n.problem = noLease(rec.Err.Error())
		case rec.Err != nil:
			n.problem = unknown(rec.Err)
		case rec.Holder != n.HolderID:
			n.problem = n.lost(rec.Holder)
		default:
			n.grant.Token = rec.Token
		}
	}
}

// lost says that the lease is not the one that is meant, and who has it instead.
func (n *renewal) lost(holder string) *problem {
	p := noLease("it was lost: it ran out or was released")
	switch holder {
	case "":
	case n.HolderID:
		p.Detail, p.HolderID = "it was lost: it has another version", holder
	default:
		p.Detail, p.HolderID = "it was lost: another has it", holder
	}

	return p
}

// revoke ends the leases of sessions that have gone, are paused or can't be used any
// more, as a node would.
func (a *api) revoke(ctx context.Context, some []*renewal) {
	releases := make([]lease.Release, len(some))
	for i, n := range some {
		n.problem = n.target.fault
		releases[i] = lease.Release{Grant: n.grant, Forget: n.target.forget}
	}
	for i, err := range a.end(ctx, releases, func(i int) string { return some[i].target.reason }) {
		if lease.Unknown(err) {
			some[i].problem = unknown(err)
		}
	}
}

// extend restarts the TTLs.
func (a *api) extend(ctx context.Context, some []*renewal) {
	wanted := make([]lease.Renewal, len(some))
	for i, n := range some {
		wanted[i] = lease.Renewal{Grant: n.grant, TTL: n.target.ttl}
	}
	sent := time.Now()
	for i, v := range a.Store.Renew(ctx, wanted) {
		switch n := some[i]; {
		case v.Err == nil:
			n.body = held{HolderID: n.HolderID, Version: int64(n.grant.Token), ExpiresAt: after(sent, n.target.ttl)}
			a.Log.Emit(eventlog.LeaseRenewed{Session: n.id, Version: int64(n.grant.Token), Holder: n.HolderID})
		case errors.Is(v.Err, lease.ErrLost):
			n.problem = n.lost(v.Holder)
		case errors.Is(v.Err, lease.ErrForeign):
			n.problem = noLease(v.Err.Error())
		default:
			n.problem = unknown(fmt.Errorf("the lease may not have been renewed: %w", v.Err))
		}
	}
}
