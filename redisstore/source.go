package redisstore

import (
	"context"
	"fmt"
	"slices"

	"github.com/redis/go-redis/v9"

	"leasehold/rediskey"
	"leasehold/session"
)

// readCount is how many documents are read, and held in memory, at once.
const readCount = 200

// Scan calls each with the stored documents in batches: see [session.Source].
func (s *Store) Scan(ctx context.Context, each func([]session.Document)) error {
	err := s.scan(ctx, s.keys.SessionGlob(), func(keys []string) error {
		ids := make([]string, 0, len(keys))
		for _, key := range keys {
			if kind, id := s.keys.Parse(key); kind == rediskey.Session {
				ids = append(ids, id)
			}
		}
		for part := range slices.Chunk(ids, readCount) {
			docs, err := s.read(ctx, part)
			if err != nil {
				return err
			}
			// Removed since SCAN saw them.
			docs = slices.DeleteFunc(docs, func(d session.Document) bool { return d.Raw == nil && d.Err == nil })
			if len(docs) > 0 {
				each(docs)
			}
		}

		return nil
	})
	if err != nil {
		return fmt.Errorf("scan the sessions: %w", err)
	}

	return nil
}

// Get reads the documents named, in their order: see [session.Source].
func (s *Store) Get(ctx context.Context, ids []string) ([]session.Document, error) {
	docs := make([]session.Document, len(ids))
	errs := make([]error, len(ids)) // at the first of each piece
	s.chunks(ctx, len(ids), func(ctx context.Context, from, to int) error {
		some, err := s.read(ctx, ids[from:to])
		copy(docs[from:to], some)
		errs[from] = err

		return err
	})
	for _, err := range errs {
		if err != nil {
			return nil, fmt.Errorf("read %d sessions: %w", len(ids), err)
		}
	}

	return docs, nil
}

// read uses one GET each and not MGET: that says nil for a key of another type
// too, and in a cluster wants all keys in one slot.
func (s *Store) read(ctx context.Context, ids []string) ([]session.Document, error) {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	p := s.client.Pipeline()
	gets := make([]*redis.StringCmd, len(ids))
	for i, id := range ids {
		gets[i] = p.Get(ctx, s.keys.Session(id))
	}
	_, _ = p.Exec(ctx) // each command has its own error
	docs := make([]session.Document, len(ids))
	for i, get := range gets {
		docs[i].ID = ids[i]
		text, err := get.Result()
		switch {
		case missing(err):
		case redis.HasErrorPrefix(err, "WRONGTYPE"):
			docs[i].Err = foreign(s.keys.Session(ids[i]))
		case err != nil:
			return nil, err
		default:
			docs[i].Raw = append([]byte{}, text...) // an empty document is not a missing one
		}
	}

	return docs, nil
}
