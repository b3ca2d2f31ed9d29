package redistest

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	masters     = 3
	slots       = 16384
	joinTimeout = 20 * time.Second
)

// Cluster is a Redis Cluster of three masters, without replicas unless asked for.
type Cluster struct {
	Nodes []*Server // the masters that it began with
	// Replicas has one for each of Nodes, in their order, after Replicate.
	Replicas []*Server

	port int // by which the first one is met
}

// StartCluster runs a cluster until the test ends and returns when it is whole.
func StartCluster(tb testing.TB) *Cluster {
	tb.Helper()
	c := &Cluster{}
	ports := make([]int, masters)
	for i := range masters {
		ports[i] = FreePort(tb)
		c.Nodes = append(c.Nodes, startPart(tb, ports[i]))
	}
	ctx, cancel := context.WithTimeout(context.Background(), joinTimeout)
	defer cancel()
	if err := c.join(ctx, ports); err != nil {
		tb.Fatalf("create a cluster: %v", err)
	}
	c.port = ports[0]
	return c
}

func startPart(tb testing.TB, busPort int) *Server {
	tb.Helper()
	return StartServer(tb, "--cluster-enabled", "yes", "--cluster-port", strconv.Itoa(busPort),
		"--cluster-node-timeout", "3000", "--repl-diskless-sync-delay", "0")
}

// Replicate gives each master a replica, which takes over when the master has not
// answered for three seconds. It returns when all are in step.
func (c *Cluster) Replicate(tb testing.TB) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), joinTimeout)
	defer cancel()
	for range c.Nodes {
		r := startPart(tb, FreePort(tb))
		c.Replicas = append(c.Replicas, r)
		if err := r.command(ctx, []any{"CLUSTER", "MEET", "127.0.0.1", c.Nodes[0].Port, c.port}); err != nil {
			tb.Fatalf("add a replica: %v", err)
		}
	}
	all := slices.Concat(c.Nodes, c.Replicas)
	for _, s := range all {
		if err := s.awaitCluster(ctx, len(all)); err != nil {
			tb.Fatalf("add replicas: %v", err)
		}
	}
	for i, r := range c.Replicas {
		if err := r.follow(ctx, c.Nodes[i]); err != nil {
			tb.Fatalf("replicate: %v", err)
		}
	}
}

// follow makes the server a replica, and returns when it is in step.
func (s *Server) follow(ctx context.Context, master *Server) error {
	of, client := master.Client(), s.Client()
	defer func() { _, _ = of.Close(), client.Close() }()
	id, err := of.ClusterMyID(ctx).Result()
	if err != nil {
		return err
	}
	if err := client.ClusterReplicate(ctx, id).Err(); err != nil {
		return err
	}
	for {
		info, err := client.Info(ctx, "replication").Result()
		if err == nil && strings.Contains(info, "master_link_status:up") {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s does not follow %s: %s: %w", s.Addr(), master.Addr(), info, ctx.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// Addrs lists host:port of all nodes.
func (c *Cluster) Addrs() []string {
	addrs := make([]string, len(c.Nodes))
	for i, n := range c.Nodes {
		addrs[i] = n.Addr()
	}
	return addrs
}

// URL is the cluster as LEASEHOLD_REDIS_URL takes it.
func (c *Cluster) URL() string { return "redis://" + strings.Join(c.Addrs(), ",") }

// Client returns a cluster client for tests. Close it.
func (c *Cluster) Client() *redis.ClusterClient {
	return redis.NewClusterClient(&redis.ClusterOptions{
		Addrs: c.Addrs(), Protocol: 2, ContextTimeoutEnabled: true,
		DialTimeout: time.Second, ReadTimeout: 2 * time.Second, WriteTimeout: 2 * time.Second,
		ClusterStateReloadInterval: time.Second, DisableIdentity: true,
		MaintNotificationsConfig: maintDisabled(),
	})
}

// join gives each node its share of the slots, introduces all to the first, and
// waits until every node finds the cluster whole.
func (c *Cluster) join(ctx context.Context, ports []int) error {
	for i, n := range c.Nodes {
		if err := n.command(ctx,
			[]any{"CLUSTER", "ADDSLOTSRANGE", i * slots / masters, (i+1)*slots/masters - 1},
			[]any{"CLUSTER", "SET-CONFIG-EPOCH", i + 1},
			[]any{"CLUSTER", "MEET", "127.0.0.1", c.Nodes[0].Port, ports[0]},
		); err != nil {
			return err
		}
	}
	for _, n := range c.Nodes {
		if err := n.awaitCluster(ctx, masters); err != nil {
			return err
		}
	}
	return nil
}

func (s *Server) command(ctx context.Context, commands ...[]any) error {
	client := s.Client()
	defer func() { _ = client.Close() }()
	for _, args := range commands {
		if err := client.Do(ctx, args...).Err(); err != nil {
			return fmt.Errorf("%v: %w", args, err)
		}
	}

	return nil
}

func (s *Server) awaitCluster(ctx context.Context, known int) error {
	client := s.Client()
	defer func() { _ = client.Close() }()
	for {
		info, err := client.ClusterInfo(ctx).Result()
		if err == nil && strings.Contains(info, "cluster_state:ok") &&
			strings.Contains(info, "cluster_known_nodes:"+strconv.Itoa(known)) {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("node %s does not see a whole cluster: %s: %w", s.Addr(), info, ctx.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
}
