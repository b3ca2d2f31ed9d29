package fleetview

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"

	"leasehold/lease"
	"leasehold/session"
)

// step is about how many keys are looked at, and how many sessions held in memory, at
// once.
const step = 1000

// Store is what the picture is read from.
type Store interface {
	lease.Inspector
	session.Source
	session.Pager
	// List finds the nodes that are alive, sorted by name.
	List(ctx context.Context) ([]lease.Member, error)
}

// Reader reads the picture. Its methods may be called from any goroutine, and end
// within a few timeouts of the store for each step when Redis does not answer.
type Reader struct {
	Store Store
	Rules Rules
}

// Each calls f with all sessions in batches, each session once, in no order. An error
// of f ends the reading.
func (r Reader) Each(ctx context.Context, f func([]Session) error) error {
	seen := make(map[string]struct{})
	batches := make(chan []Session, 1)
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		defer close(batches)
		return r.page(ctx, seen, batches)
	})
	g.Go(func() error {
		for some := range batches {
			if err := f(some); err != nil {
				return err
			}
		}
		return nil
	})
	return g.Wait()
}

// page reads step by step while the batch before is being used.
func (r Reader) page(ctx context.Context, seen map[string]struct{}, batches chan<- []Session) error {
	for cursor := ""; ; {
		ids, next, err := r.Store.Page(ctx, cursor, step)
		if err != nil {
			return err
		}
		some, err := r.Get(ctx, fresh(ids, seen))
		if err != nil {
			return err
		}
		select {
		case batches <- some:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if next == "" {
			return nil
		}
		cursor = next
	}
}

// fresh leaves out what was seen before: a listing may give an ID twice.
func fresh(ids []string, seen map[string]struct{}) []string {
	kept := ids[:0]
	for _, id := range ids {
		if _, again := seen[id]; !again {
			seen[id] = struct{}{}
			kept = append(kept, id)
		}
	}
	return kept
}

// Get reads those of the sessions whose documents are there.
func (r Reader) Get(ctx context.Context, ids []string) ([]Session, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	var docs []session.Document
	var known []lease.Inspection
	sent := time.Now()
	g, both := errgroup.WithContext(ctx)
	g.Go(func() (err error) {
		docs, err = r.Store.Get(both, ids)
		return err
	})
	g.Go(func() error {
		known = r.Store.Inspect(both, ids)
		return nil
	})
	if err := g.Wait(); err != nil {
		return nil, err
	}
	found := make([]Session, 0, len(ids))
	for i, d := range docs {
		if d.Raw == nil && d.Err == nil {
			continue
		}
		s, err := r.Rules.Look(d, known[i], sent)
		if err != nil {
			return nil, err
		}
		found = append(found, s)
	}
	return found, nil
}
