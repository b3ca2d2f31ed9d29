package redisstore_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/redis/go-redis/v9"

	"leasehold/internal/bubble"
	"leasehold/internal/redistest"
	"leasehold/lease/leasetest"
	"leasehold/rediskey"
	"leasehold/redisstore"
)

func TestRedisstore(t *testing.T) {
	bubble.Bind(t)
	RegisterFailHandler(Fail)
	RunSpecs(t, "redisstore")
}

const stream = "poll:results"

// fixture is a store over the client for the conformance suite.
func fixture(c redis.UniversalClient, sleep func(time.Duration)) *leasetest.Fixture {
	var mu sync.Mutex
	var foreign []string
	return &leasetest.Fixture{
		Store: redisstore.New(c, rediskey.Default(), redisstore.Options{
			Timeout: 20 * time.Second, // the machine may be busy
			Stream:  stream,
			OnForeign: func(key, _ string) {
				mu.Lock()
				defer mu.Unlock()
				foreign = append(foreign, key)
			},
		}),
		Keys:   rediskey.Default(),
		Stream: stream,
		Apart:  isCluster(c),
		Sleep:  sleep,
		Foreign: func() []string {
			mu.Lock()
			defer mu.Unlock()
			return foreign
		},
		Do: func(ctx context.Context, args ...any) (any, error) {
			v, err := c.Do(ctx, args...).Result()
			if errors.Is(err, redis.Nil) {
				err = nil
			}
			return v, err
		},
		Everywhere: func(ctx context.Context, args ...any) error {
			if cc, ok := c.(*redis.ClusterClient); ok {
				return cc.ForEachMaster(ctx, func(ctx context.Context, node *redis.Client) error {
					return node.Do(ctx, args...).Err()
				})
			}
			return c.Do(ctx, args...).Err()
		},
	}
}

func isCluster(c redis.UniversalClient) bool {
	_, ok := c.(*redis.ClusterClient)
	return ok
}

var _ = Describe("on miniredis in a bubble", func() {
	leasetest.Specs(func(body func(Gomega, *leasetest.Fixture)) {
		bubble.Run(func(g Gomega) {
			m := redistest.NewMini()
			defer m.Close()
			c := m.Client()
			defer func() { _ = c.Close() }()
			body(g, fixture(c, bubble.Sleep))
		})
	})
})

var _ = Describe("on a real server", Ordered, func() {
	var client *redis.Client
	BeforeAll(func() {
		client = redistest.StartServer(GinkgoTB()).Client()
		DeferCleanup(client.Close)
	})
	leasetest.Specs(onServer(func() redis.UniversalClient { return client }))
})

var _ = Describe("on a real cluster", Ordered, func() {
	var client *redis.ClusterClient
	BeforeAll(func() {
		client = redistest.StartCluster(GinkgoTB()).Client()
		DeferCleanup(client.Close)
	})
	leasetest.Specs(onServer(func() redis.UniversalClient { return client }))
})

// onServer runs each spec on an emptied server.
func onServer(client func() redis.UniversalClient) leasetest.Runner {
	return func(body func(Gomega, *leasetest.Fixture)) {
		f := fixture(client(), time.Sleep)
		Expect(f.Everywhere(context.Background(), "FLUSHALL")).To(Succeed())
		body(Default, f)
	}
}
