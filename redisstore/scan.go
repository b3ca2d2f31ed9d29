package redisstore

import (
	"context"
	"errors"
	"sync"

	"github.com/redis/go-redis/v9"

	"leasehold/rediskey"
)

// scanCount is how many keys the server looks at per SCAN: about a quarter of a
// millisecond of its time.
const scanCount = 1000

// scan calls each with the keys that match, in batches, on one goroutine at a
// time. A key may come twice. When a master of a cluster does not answer the keys of
// the others come all the same, before the error.
func (s *Store) scan(ctx context.Context, pattern string, each func([]string) error) error {
	cc, ok := s.client.(*redis.ClusterClient)
	if !ok {
		return s.scanNode(ctx, s.client, pattern, each)
	}
	masters, err := mastersOf(ctx, cc)
	if err != nil {
		return err
	}
	var mu sync.Mutex
	var wg sync.WaitGroup
	errs := make([]error, len(masters))
	for i, node := range masters {
		wg.Go(func() {
			errs[i] = s.scanNode(ctx, node, pattern, func(keys []string) error {
				mu.Lock()
				defer mu.Unlock()

				return each(keys)
			})
		})
	}
	wg.Wait()

	return errors.Join(errs...)
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

// naming has a scan call each with what the keys of a kind are about.
func (s *Store) naming(kind rediskey.Kind, each func(ids []string) error) func(keys []string) error {
	return func(keys []string) error {
		ids := make([]string, 0, len(keys))
		for _, key := range keys {
			if is, id := s.keys.Parse(key); is == kind {
				ids = append(ids, id)
			}
		}

		return each(ids)
	}
}
