package redisstore

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// Servers returns a client of each server that has keys, sorted by address: the one
// that the client is of, or all masters of a cluster. They stay the client's to close.
func Servers(ctx context.Context, client redis.UniversalClient) ([]*redis.Client, error) {
	switch c := client.(type) {
	case *redis.Client:
		return []*redis.Client{c}, nil
	case *redis.ClusterClient:
		return mastersOf(ctx, c)
	default:
		return nil, fmt.Errorf("no servers of a %T", client)
	}
}

// topologyWait bounds the wait for the present masters. Who asks for them may ask the one
// that hangs: then those known last are taken.
const topologyWait = 250 * time.Millisecond

func mastersOf(ctx context.Context, cc *redis.ClusterClient) ([]*redis.Client, error) {
	brief, cancel := context.WithTimeout(ctx, topologyWait)
	defer cancel()
	if masters, err := listMasters(brief, cc); err == nil {
		return masters, nil
	}

	return listMasters(ctx, cc) // none are known yet
}

func listMasters(ctx context.Context, cc *redis.ClusterClient) ([]*redis.Client, error) {
	var mu sync.Mutex
	var masters []*redis.Client
	err := cc.ForEachMaster(ctx, func(_ context.Context, node *redis.Client) error {
		mu.Lock()
		defer mu.Unlock()
		masters = append(masters, node)

		return nil
	})
	slices.SortFunc(masters, func(a, b *redis.Client) int { return cmp.Compare(a.Options().Addr, b.Options().Addr) })

	return masters, err
}
