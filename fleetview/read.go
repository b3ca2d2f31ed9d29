package fleetview

import (
	"context"
	"sync"
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
	// Cards reads the cards of the nodes named, in their order; nil for each that has none.
	Cards(ctx context.Context, instances []string) ([]*lease.Card, error)
	// List finds the nodes that are alive, sorted by name.
	List(ctx context.Context) ([]lease.Member, error)
}

// Reader reads the picture. Its methods may be called from any goroutine, and end
// within a few timeouts of the store for each step when Redis does not answer.
type Reader struct {
	Store Store
	Rules Rules
}

// inFlight is how many batches are read and decoded at once.
const inFlight = 4

// Each calls f with all sessions in batches, each session once, in no order. An error
// of f ends the reading. f is called by one goroutine at a time.
func (r Reader) Each(ctx context.Context, f func([]Session) error) error {
	pages, batches := make(chan []string), make(chan []Session)
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		defer close(pages)
		return r.page(ctx, pages)
	})
	var readers sync.WaitGroup
	for range inFlight {
		readers.Add(1)
		g.Go(func() error {
			defer readers.Done()
			return r.read(ctx, pages, batches)
		})
	}
	g.Go(func() error {
		readers.Wait()
		close(batches)
		return nil
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

// page lists the IDs step by step, each once.
func (r Reader) page(ctx context.Context, pages chan<- []string) error {
	seen := make(map[string]struct{})
	for cursor := ""; ; {
		var ids []string
		var next string
		err := again(ctx, func() (err error) {
			ids, next, err = r.Store.Page(ctx, cursor, step)
			return err
		})
		if err != nil {
			return err
		}
		if err := send(ctx, pages, fresh(ids, seen)); err != nil || next == "" {
			return err
		}
		cursor = next
	}
}

// read reads the sessions of the pages.
func (r Reader) read(ctx context.Context, pages <-chan []string, batches chan<- []Session) error {
	for ids := range pages {
		var some []Session
		err := again(ctx, func() (err error) {
			some, err = r.Get(ctx, ids)
			return err
		})
		if err == nil {
			err = send(ctx, batches, some)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func send[T any](ctx context.Context, to chan<- T, v T) error {
	select {
	case to <- v:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// tries is how often a step of a long reading is made before it is given up with all of
// it: one answer of hundreds may come late, and to read is to change nothing.
const tries = 3

func again(ctx context.Context, do func() error) (err error) {
	for range tries {
		if err = do(); err == nil || ctx.Err() != nil {
			return err
		}
	}
	return err
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
