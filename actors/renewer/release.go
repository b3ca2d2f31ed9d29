package renewer

import (
	"context"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"leasehold/actors/tree"
	"leasehold/lease"
)

// releaseLimit bounds one call that releases leases.
const releaseLimit = 5 * time.Second

// enqueue adds a release to the next batch. The batch goes out after the messages
// that are already in the mailbox, so a burst of releases is one call.
func (r *renewerActor) enqueue(c actor.Context, m *Release) {
	r.releases = append(r.releases, m)
	if !r.flushing {
		r.flushing = true
		tree.Self(c).Send(&flush{})
	}
}

func (r *renewerActor) flush(c actor.Context) {
	r.flushing = false
	ctx, store := r.cfg.Context, r.cfg.Store
	place := func(m *Release) string { return lease.PlaceOf(ctx, store, m.Release.Session) }
	for _, batch := range lease.ByPlace(r.releases, place, r.cfg.BatchSize) {
		tree.Async(c, func() any { return &released{batch: batch, errs: release(ctx, store, batch)} })
	}
	r.releases = nil
}

func release(ctx context.Context, store lease.Store, batch []*Release) []error {
	releases := make([]lease.Release, len(batch))
	for i, m := range batch {
		releases[i] = m.Release
	}
	ctx, cancel := context.WithTimeout(ctx, releaseLimit)
	defer cancel()
	return store.Release(ctx, releases)
}

// noteReleased answers the holders. A release without an answer is tried again
// while the lease can still be there.
func (*renewerActor) noteReleased(c actor.Context, m *released) {
	var repeat []*Release
	for i, asked := range m.batch {
		err := m.errs[i]
		if lease.Unknown(err) && time.Now().Add(lease.FirstRetry).Before(asked.GiveUp) {
			repeat = append(repeat, asked)
			continue
		}
		asked.ReplyTo.Send(&Released{Grant: asked.Release.Grant, Err: err})
	}
	if len(repeat) > 0 {
		tree.Self(c).After(lease.FirstRetry, &again{batch: repeat})
	}
}
