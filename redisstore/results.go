package redisstore

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// resultsWait bounds the wait for new results, which takes a connection.
	resultsWait  = time.Second
	resultsCount = 1000
)

// LastResult is the position behind the newest result in the stream.
func (s *Store) LastResult(ctx context.Context) (string, error) {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	last, err := s.client.XRevRangeN(ctx, s.opts.Stream, "+", "-", 1).Result()
	switch {
	case err != nil:
		return "", fmt.Errorf("find the last result: %w", err)
	case len(last) == 0:
		return "0-0", nil
	}

	return last[0].ID, nil
}

// Results waits a little for results behind the position. It returns them as events
// in JSON, and the position behind them. Without a stream there are none.
func (s *Store) Results(ctx context.Context, after string) (events []string, next string, err error) {
	found, err := s.client.XRead(ctx, &redis.XReadArgs{
		Streams: []string{s.opts.Stream, after}, Count: resultsCount, Block: resultsWait,
	}).Result()
	if missing(err) {
		return nil, after, nil
	}
	if err != nil {
		return nil, after, fmt.Errorf("read the results: %w", err)
	}
	for _, entry := range found[0].Messages {
		after = entry.ID
		if event, ok := entry.Values["event"].(string); ok {
			events = append(events, event)
		}
	}

	return events, after, nil
}

// ResultEntry is a result in the stream.
type ResultEntry struct {
	// Position is where it stands.
	Position, Session string
	// Event is the result as an event in JSON.
	Event string
}

// ResultsBefore returns up to count results before a position, the newest first; an
// empty position is the stream's end. Fewer say that there are no more.
func (s *Store) ResultsBefore(ctx context.Context, before string, count int) ([]ResultEntry, error) {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	from := "+"
	if before != "" {
		from = "(" + before
	}
	found, err := s.client.XRevRangeN(ctx, s.opts.Stream, from, "-", int64(count)).Result()
	if err != nil {
		return nil, fmt.Errorf("read the results: %w", err)
	}
	entries := make([]ResultEntry, len(found))
	for i, m := range found {
		entries[i].Position = m.ID
		entries[i].Session, _ = m.Values["session"].(string)
		entries[i].Event, _ = m.Values["event"].(string)
	}

	return entries, nil
}

// HasResults reports whether there is a stream.
func (s *Store) HasResults() bool { return s.opts.Stream != "" }
