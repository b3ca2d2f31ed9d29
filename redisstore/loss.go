package redisstore

import (
	"context"
	"fmt"
	"time"
)

// NoteLoss tells for ttl that the instance saw that Redis may have lost data.
func (s *Store) NoteLoss(ctx context.Context, instance string, ttl time.Duration) error {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	if err := s.client.Do(ctx, "SET", s.keys.Loss(), instance, "PX", millis(ttl)).Err(); err != nil {
		return fmt.Errorf("note that Redis may have lost data: %w", err)
	}

	return nil
}

// LossNoted reports whether somebody tells that Redis may have lost data.
func (s *Store) LossNoted(ctx context.Context) (bool, error) {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	n, err := s.client.Exists(ctx, s.keys.Loss()).Result()
	if err != nil {
		return false, fmt.Errorf("ask whether Redis lost data: %w", err)
	}

	return n > 0, nil
}
