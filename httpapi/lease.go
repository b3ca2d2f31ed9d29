package httpapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"leasehold/eventlog"
	"leasehold/fleetview"
	"leasehold/lease"
	"leasehold/session"
)

// held is a lease as the API shows it.
type held struct {
	HolderID string `json:"holder_id"`
	Version  int64  `json:"version"`
	// ExpiresAt is never later than Redis ends the lease; null: it has no expiry.
	ExpiresAt *stamp `json:"expires_at"`
}

// stamp is a time as it is shown.
type stamp = fleetview.Stamp

// after is the time so long after a request was sent.
func after(sent time.Time, d time.Duration) *stamp { return fleetview.After(sent, d) }

func noSession(reason string) *problem {
	return newProblem(http.StatusNotFound, "no such session", reason)
}

func noLease(reason string) *problem {
	return newProblem(http.StatusNotFound, "no such lease", reason)
}

// show answers who holds the lease.
func (a *api) show(r *call) answer {
	if _, p := a.document(r); p != nil {
		return refuse(p)
	}
	sent := time.Now()
	rec := a.Store.Read(r.Context(), []string{r.id})[0]
	switch {
	case rec.Err != nil:
		return refuse(unknown(rec.Err))
	case rec.Holder == "":
		return refuse(noLease("the lease is free"))
	}
	body := held{HolderID: rec.Holder, Version: int64(rec.Token)}
	if rec.Remaining != lease.NoExpiry {
		body.ExpiresAt = after(sent, rec.Remaining)
	}

	return answer{status: http.StatusOK, body: body}
}

// acquire takes the lease for a holder, or finds it there already: a request whose
// answer was lost may be repeated.
func (a *api) acquire(r *call) answer {
	c, p := readClaim(r.Request)
	if p != nil {
		return refuse(p)
	}
	target, p := a.leasable(r.Context(), r.id)
	if p != nil {
		return refuse(p)
	}
	sent := time.Now()
	o := a.Store.Acquire(r.Context(), c.HolderID, []lease.Claim{{Session: r.id, TTL: target.ttl, Alone: true}})[0]
	switch {
	case o.Err != nil:
		a.Log.Emit(eventlog.LeaseAcquireFailed{Session: r.id, Trigger: byAPI, Err: o.Err})

		return refuse(unknown(o.Err))
	case !o.Granted:
		a.Log.Emit(eventlog.LeaseAcquireFailed{Session: r.id, Trigger: byAPI, Holder: o.Holder})

		return refuse(heldBy(o))
	}
	body := held{HolderID: c.HolderID, Version: int64(o.Token), ExpiresAt: after(sent, target.ttl)}
	if o.Already {
		return answer{status: http.StatusOK, body: body}
	}
	a.Log.Emit(eventlog.LeaseAcquired{Session: r.id, Version: int64(o.Token), Trigger: byAPI, Holder: c.HolderID, Takeover: -1})

	return answer{status: http.StatusCreated, body: body}
}

// byAPI is the reason of what is logged here.
const byAPI = "api"

// heldBy says who has the lease instead, and when to come back.
func heldBy(o lease.Outcome) *problem {
	p := newProblem(http.StatusConflict, "held by another", "")
	if o.Holder == "" {
		p = newProblem(http.StatusConflict, "poll in flight",
			"the lease is free, but a poll of its last holder, in whose place somebody ended it, may not be over")
	}
	p.HolderID, p.Version = o.Holder, new(int64(o.Token))
	p.retryAfter = max(o.Remaining, leastPause) // also where no end is known

	return p
}

// target is a session that may be leased.
type target struct {
	kind session.Kind
	ttl  time.Duration
	// unread is why nothing else is known of it.
	unread error
	// fault is why it may not, and what becomes of its lease; nil: it may.
	fault  *problem
	reason string
	forget bool
}

// leasable returns the session's target, or why there is none.
func (a *api) leasable(ctx context.Context, id string) (target, *problem) {
	t := a.targets(ctx, []string{id})[0]
	if t.unread != nil {
		return t, unknown(t.unread)
	}

	return t, t.fault
}

// targets reads which of the sessions may be leased, in their order. Those that could
// not be read are told apart: they are neither gone nor free.
func (a *api) targets(ctx context.Context, ids []string) []target {
	docs, err := a.Store.Get(ctx, ids)
	out := make([]target, len(ids))
	for i := range out {
		switch {
		case err != nil && len(docs) == 0:
			out[i].unread = err
		case docs[i].Unread != nil:
			out[i].unread = fmt.Errorf("read the session: %w", docs[i].Unread)
		default:
			out[i] = a.target(docs[i])
		}
	}

	return out
}

// target judges a document as the nodes do: what they would not poll nobody leases,
// except that sessions of kind external are for the API alone.
func (a *api) target(d session.Document) target {
	if d.Raw == nil && d.Err == nil {
		return target{fault: noSession(""), reason: "deleted", forget: true}
	}
	s, err := a.rules().Read(d)
	switch {
	case err != nil:
		return target{fault: noSession("its document can't be used: " + err.Error()), reason: "paused"}
	case s.Paused:
		return target{fault: noSession("it is paused"), reason: "paused"}
	}

	return target{kind: s.Kind, ttl: cmp.Or(s.LeaseTTL, a.TTL)}
}

// rules are those by which documents are judged.
func (a *api) rules() fleetview.Rules {
	return fleetview.Rules{Defaults: a.Defaults, CheckID: a.CheckID}
}

// release ends the holder's lease. What it does not hold it need not release, so
// that is well too, as often as it is asked. Of a session that was removed nothing is
// left then.
func (a *api) release(r *call) answer {
	c, p := readRelease(r.Request)
	if p != nil {
		return refuse(p)
	}
	docs, err := a.Store.Get(r.Context(), []string{r.id})
	if err != nil {
		return refuse(unknown(err))
	}
	removed := docs[0].Raw == nil && docs[0].Err == nil
	done := answer{status: http.StatusNoContent}
	g := lease.Grant{Session: r.id, Holder: c.HolderID} // token 0 is nobody's
	if c.Version != nil {
		g.Token = lease.Token(*c.Version)
	} else {
		rec := a.Store.Read(r.Context(), []string{r.id})[0]
		switch {
		case errors.Is(rec.Err, lease.ErrForeign), rec.Err == nil && rec.Holder != c.HolderID && !removed:
			return done
		case rec.Err != nil:
			return refuse(unknown(rec.Err))
		case rec.Holder == c.HolderID:
			g.Token = rec.Token
		}
	}
	one := []lease.Release{{Grant: g, Forget: removed}}
	if err := a.end(r.Context(), one, func(int) string { return byAPI })[0]; lease.Unknown(err) {
		return refuse(unknown(fmt.Errorf("the lease may still be held: %w", err)))
	}

	return done
}

// end releases exactly these grants.
func (a *api) end(ctx context.Context, some []lease.Release, reason func(i int) string) []error {
	errs := a.Store.Release(ctx, some)
	for i, r := range some {
		if g := r.Grant; errs[i] == nil {
			a.Log.Emit(eventlog.LeaseReleased{Session: g.Session, Version: int64(g.Token), Reason: reason(i), Holder: g.Holder})
		}
	}

	return errs
}
