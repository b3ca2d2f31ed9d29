package renewer

import (
	"context"
	"errors"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"leasehold/actors/tree"
	"leasehold/eventlog"
	"leasehold/lease"
)

// burst renews all leases of a TTL.
func (r *renewerActor) burst(c actor.Context, ttl time.Duration) {
	if g, ok := r.groups[ttl]; ok {
		r.renew(c, ttl, maps.Values(g.leases))
	}
}

// renew renews, in batches, those leases of a TTL that are still trusted and not already
// being renewed. (A lease whose trust has ended is left to run out: to renew it would keep
// everybody from the session.)
func (r *renewerActor) renew(c actor.Context, ttl time.Duration, leases iter.Seq[*tracked]) {
	var due []*tracked
	now := time.Now()
	for t := range leases {
		if !t.busy && t.cell.Alive() {
			t.busy, t.place = true, lease.PlaceOf(r.cfg.Context, r.cfg.Store, t.cell.Grant().Session)
			due = append(due, t)
		}
	}
	margin := Margin(ttl, r.cfg.TTL, r.cfg.Margin)
	for place, batch := range lease.ByPlace(due, func(t *tracked) string { return t.place }, r.cfg.BatchSize) {
		ctx, store, slots, note := r.cfg.Context, r.cfg.Store, r.slotsOf(place), r.cfg.Batch
		renewals, shortest := make([]lease.Renewal, len(batch)), ttl
		for i, t := range batch {
			renewals[i] = lease.Renewal{Grant: t.cell.Grant(), TTL: t.lasts, Busy: t.cell.Busy(now)}
			shortest = min(shortest, t.lasts)
		}
		patience := r.cfg.patience(ttl, shortest)
		tree.Async(c, func() any {
			slots <- struct{}{}
			defer func() { <-slots }()
			began := time.Now()
			ctx, cancel := context.WithTimeout(ctx, patience)
			defer cancel()
			verdicts := extend(ctx, store, batch, renewals, margin)
			if note != nil {
				note(len(batch), time.Since(began))
			}
			return &renewed{ttl: ttl, batch: batch, verdicts: verdicts}
		})
	}
}

// extend asks Redis and applies the answers to the cells at once, without a detour
// by the mailbox.
func extend(
	ctx context.Context, store lease.Store, batch []*tracked, renewals []lease.Renewal, margin time.Duration,
) []lease.Verdict {
	sent := time.Now()
	for i, t := range batch {
		t.cell.Limit(sent.Add(renewals[i].TTL - margin)) // does nothing, unless the TTL got shorter
	}
	verdicts := store.Renew(ctx, renewals)
	for i, t := range batch {
		switch v := verdicts[i]; {
		case v.Err == nil:
			t.cell.Extend(sent.Add(renewals[i].TTL - margin))
		case errors.Is(v.Err, lease.ErrLost), errors.Is(v.Err, lease.ErrForeign):
			t.cell.Kill(lossOf(v))
		default:
			t.cell.Suspend()
		}
	}
	return verdicts
}

func lossOf(v lease.Verdict) error {
	switch {
	case errors.Is(v.Err, lease.ErrForeign):
		return &lease.LostError{Reason: "the lease key was overwritten with a foreign type"}
	case v.Holder == "":
		return &lease.LostError{Reason: "the lease key is missing"}
	default:
		return &lease.LostError{Reason: "another has it, or a newer token", Holder: v.Holder}
	}
}

// verify adds a lease to the next verification, which goes out after the messages
// that are already in the mailbox.
func (r *renewerActor) verify(c actor.Context, grant lease.Grant) {
	if len(r.doubtful) == 0 {
		r.doubtful = make(map[lease.Grant]struct{})
		tree.Self(c).Send(&verifyNow{})
	}
	r.doubtful[grant] = struct{}{}
}

// doubt has a lease renewed once more if it is being renewed: what is on its way may be
// older than the doubt.
func (t *tracked) doubt() { t.again = t.again || t.busy }

// renewAll renews all leases now.
func (r *renewerActor) renewAll(c actor.Context) {
	for ttl, g := range r.groups {
		for _, t := range g.leases {
			t.doubt()
		}
		r.burst(c, ttl)
	}
}

func (r *renewerActor) verifyNow(c actor.Context) {
	doubtful := r.doubtful
	r.doubtful = nil
	for ttl, g := range r.groups {
		var leases []*tracked
		for grant := range doubtful {
			if t, ok := g.leases[grant]; ok {
				t.doubt()
				leases = append(leases, t)
			}
		}
		r.renew(c, ttl, slices.Values(leases))
	}
}

// noteRenewed books the answers to a batch, and tells holders what changed.
func (r *renewerActor) noteRenewed(c actor.Context, m *renewed) {
	unanswered, answered := 0, 0
	again := map[time.Duration][]*tracked{} // by their TTL, that may have changed meanwhile
	for i, t := range m.batch {
		t.busy = false
		if t.gone {
			continue
		}
		if t.again {
			t.again = false
			again[t.ttl] = append(again[t.ttl], t)
		}
		grant := t.cell.Grant()
		switch err := m.verdicts[i].Err; {
		case err == nil:
			answered++
			r.cfg.Log.Emit(eventlog.LeaseRenewed{Session: grant.Session, Version: int64(grant.Token)})
			if t.suspended {
				t.suspended = false
				t.holder.Send(&Renewed{})
			}
		case errors.Is(err, lease.ErrLost), errors.Is(err, lease.ErrForeign):
			answered++ // the cell is dead; its holder hears of it from the cell
		default:
			unanswered++
			r.suspend(t, err)
		}
	}
	for ttl, leases := range again {
		r.renew(c, ttl, slices.Values(leases))
	}
	g, ok := r.groups[m.ttl]
	if !ok {
		return
	}
	if answered > 0 {
		g.failures = 0
	}
	if unanswered > 0 {
		r.armRetry(c, g)
	}
}

func (r *renewerActor) suspend(t *tracked, err error) {
	if t.suspended {
		return
	}
	t.suspended = true
	grant := t.cell.Grant()
	r.cfg.Log.Emit(eventlog.LeaseRenewFailed{
		Session: grant.Session, Version: int64(grant.Token), Err: err,
		Remaining: time.Until(t.cell.TrustedUntil()),
	})
	t.holder.Send(&Suspended{Err: err})
}

// armRetry has the suspended leases of a group renewed soon, once for all.
func (*renewerActor) armRetry(c actor.Context, g *group) {
	if g.retrying != nil {
		return
	}
	wait := lease.Retry(g.ttl, g.failures)
	g.failures++
	g.retrying = tree.Self(c).After(wait, &retry{ttl: g.ttl})
}

func (r *renewerActor) retry(c actor.Context, ttl time.Duration) {
	g, ok := r.groups[ttl]
	if !ok {
		return
	}
	g.retrying = nil
	var leases []*tracked
	for _, t := range g.leases {
		if t.suspended {
			leases = append(leases, t)
		}
	}
	r.renew(c, ttl, slices.Values(leases))
}
