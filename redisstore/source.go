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
	err := s.scan(ctx, s.keys.SessionGlob(), s.naming(rediskey.Session, func(ids []string) error {
		for part := range slices.Chunk(ids, readCount) {
			docs := s.read(ctx, part)
			err := firstUnread(docs)
			// Removed since SCAN saw them, or not read.
			docs = slices.DeleteFunc(docs, func(d session.Document) bool { return d.Raw == nil && d.Err == nil })
			if len(docs) > 0 {
				each(docs)
			}
			if err != nil {
				return err
			}
		}

		return nil
	}))
	if err != nil {
		return fmt.Errorf("scan the sessions: %w", err)
	}

	return nil
}

// States calls each with the sessions that have a state, in batches. One may come twice. It
// ends with the first error, which may be of each.
func (s *Store) States(ctx context.Context, each func(sessions []string) error) error {
	if err := s.scan(ctx, s.keys.StateGlob(), s.naming(rediskey.State, each)); err != nil {
		return fmt.Errorf("scan the states: %w", err)
	}

	return nil
}

// Get reads the documents named, in their order: see [session.Source].
func (s *Store) Get(ctx context.Context, ids []string) ([]session.Document, error) {
	docs := apart(ctx, s, ids, func(s *Store, id string) string { return s.keys.Session(id) }, (*Store).get)
	if err := firstUnread(docs); err != nil {
		return docs, fmt.Errorf("read %d sessions: %w", len(ids), err)
	}

	return docs, nil
}

func (s *Store) get(ctx context.Context, ids []string) []session.Document {
	docs := make([]session.Document, len(ids))
	s.chunks(ctx, len(ids), func(ctx context.Context, from, to int) error {
		copy(docs[from:to], s.read(ctx, ids[from:to]))

		return firstUnread(docs[from:to])
	})

	return docs
}

func firstUnread(docs []session.Document) error {
	for _, d := range docs {
		if d.Unread != nil {
			return d.Unread
		}
	}

	return nil
}

// read reads documents, in their order.
func (s *Store) read(ctx context.Context, ids []string) []session.Document {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	docs := make([]session.Document, len(ids))
	for i, id := range ids {
		docs[i].ID = id
	}
	if s.cluster || len(ids) == 1 { // MGET wants all keys in one slot
		s.readEach(ctx, docs, func(*session.Document) bool { return true })

		return docs
	}
	keys := make([]string, len(ids))
	for i, id := range ids {
		keys[i] = s.keys.Session(id)
	}
	texts, err := s.client.MGet(ctx, keys...).Result()
	if err != nil {
		for i := range docs {
			docs[i].Unread = err
		}

		return docs
	}
	some := false
	for i, text := range texts {
		if text, ok := text.(string); ok {
			docs[i].Raw = append([]byte{}, text...) // an empty document is not a missing one

			continue
		}
		some = true
	}
	if some { // MGET says nil for a key of another type too
		s.readEach(ctx, docs, func(d *session.Document) bool { return d.Raw == nil })
	}

	return docs
}

// readEach reads the chosen documents, of one master, by a command each.
func (s *Store) readEach(ctx context.Context, docs []session.Document, chosen func(*session.Document) bool) {
	p := s.client.Pipeline()
	gets := make(map[int]*redis.StringCmd)
	for i := range docs {
		if chosen(&docs[i]) {
			gets[i] = p.Get(ctx, s.keys.Session(docs[i].ID))
		}
	}
	_, _ = p.Exec(ctx) // each command has its own error
	for i, get := range gets {
		text, err := get.Result()
		switch {
		case missing(err):
		case redis.HasErrorPrefix(err, "WRONGTYPE"):
			docs[i].Err = foreign(s.keys.Session(docs[i].ID))
		case err != nil:
			docs[i].Unread = err
		default:
			docs[i].Raw = append([]byte{}, text...)
		}
	}
}
