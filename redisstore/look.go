package redisstore

import (
	"context"
	"fmt"
	"time"

	"leasehold/rediskey"
)

// Now is the time of the Redis server's clock; in a cluster, of one of its nodes.
func (s *Store) Now(ctx context.Context) (time.Time, error) {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	now, err := s.client.Time(ctx).Result()
	if err != nil {
		return time.Time{}, fmt.Errorf("ask for the time: %w", err)
	}

	return now, nil
}

// Leased calls each with the IDs of all sessions that have a lease, in batches, also
// of those without a document. An ID may come twice. An error of each ends it.
func (s *Store) Leased(ctx context.Context, each func(ids []string) error) error {
	if err := s.scan(ctx, s.keys.LeaseGlob(), s.naming(rediskey.Lease, each)); err != nil {
		return fmt.Errorf("list the leases: %w", err)
	}

	return nil
}
