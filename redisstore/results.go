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

// HasResults reports whether there is a stream.
func (s *Store) HasResults() bool { return s.opts.Stream != "" }
