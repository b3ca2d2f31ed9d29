package redisstore

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// NoteLoss tells those that start, for ttl, that the instance saw that Redis may have lost
// data.
func (s *Store) NoteLoss(ctx context.Context, instance string, ttl time.Duration) error {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	c := &call{script: s.scripts.note, keys: []string{s.keys.Loss()}, args: []any{instance, millis(ttl)}}
	s.exec(ctx, []*call{c})
	if c.err != nil {
		return fmt.Errorf("note that Redis may have lost data: %w", c.err)
	}

	return nil
}

// LossNoted reports whether it is told that Redis may have lost data, and how long ago that
// was seen. A key there that is no note, or does not end, counts as one of now: rather wait
// than poll twice.
func (s *Store) LossNoted(ctx context.Context) (ago time.Duration, noted bool, err error) {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	key := s.keys.Loss()
	p := s.client.Pipeline()
	text := p.Get(ctx, key) // first: what a newer note says of its end is later
	rest := p.Do(ctx, "PTTL", key)
	_, _ = p.Exec(ctx) // each command has its own error
	left, err := rest.Int64()
	if err != nil {
		return 0, false, fmt.Errorf("ask whether Redis lost data: %w", err)
	}
	value, err := text.Result()
	switch {
	case errors.Is(err, redis.Nil), left < -1:
		return 0, false, nil
	case err != nil && !redis.HasErrorPrefix(err, "WRONGTYPE"):
		return 0, false, fmt.Errorf("ask whether Redis lost data: %w", err)
	}
	number, _, _ := strings.Cut(value, " ")
	keep, err := strconv.ParseInt(number, 10, 64)
	if err != nil || left == -1 {
		s.opts.OnForeign(key, "no note of a loss of data, or one that does not end: each node that starts waits for it")

		return 0, true, nil
	}

	return time.Duration(max(0, keep-left)) * time.Millisecond, true, nil
}
