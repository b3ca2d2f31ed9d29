package redisstore

import (
	"context"
	"errors"
	"sync"

	"github.com/redis/go-redis/v9"
)

// scanCount is how many keys the server looks at per SCAN: about a quarter of a
// millisecond of its time.
const scanCount = 1000

// scan calls each with the keys that match, in batches, on one goroutine at a
// time. A key may come twice.
func (s *Store) scan(ctx context.Context, pattern string, each func([]string) error) error {
	cc, ok := s.client.(*redis.ClusterClient)
	if !ok {
		return s.scanNode(ctx, s.client, pattern, each)
	}
	var mu sync.Mutex

	return cc.ForEachMaster(ctx, func(ctx context.Context, node *redis.Client) error {
		return s.scanNode(ctx, node, pattern, func(keys []string) error {
			mu.Lock()
			defer mu.Unlock()

			return each(keys)
		})
	})
}

func (s *Store) scanNode(ctx context.Context, node redis.Cmdable, pattern string, each func([]string) error) error {
	for cursor := uint64(0); ; {
		bounded, cancel := s.bound(ctx)
		keys, next, err := node.Scan(bounded, cursor, pattern, scanCount).Result()
		cancel()
		if err != nil {
			return err
		}
		if len(keys) > 0 {
			if err := each(keys); err != nil {
				return err
			}
		}
		if next == 0 {
			return nil
		}
		cursor = next
	}
}

func missing(err error) bool { return errors.Is(err, redis.Nil) }
