package redisstore

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"leasehold/lease"
	"leasehold/rediskey"
)

// heartbeat is the value of a heartbeat key.
const heartbeat = "1"

// Beat writes the instance's heartbeat.
func (s *Store) Beat(ctx context.Context, instance string, ttl time.Duration) error {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	if err := s.client.Do(ctx, "SET", s.keys.Node(instance), heartbeat, "PX", millis(ttl)).Err(); err != nil {
		return fmt.Errorf("write the heartbeat: %w", err)
	}

	return nil
}

// Leave removes the instance's heartbeat.
func (s *Store) Leave(ctx context.Context, instance string) error {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	if err := s.client.Del(ctx, s.keys.Node(instance)).Err(); err != nil {
		return fmt.Errorf("remove the heartbeat: %w", err)
	}

	return nil
}

// List finds all live instances by scanning, sorted by name. Keys that are no
// heartbeats are left out and reported: see [Options.OnForeign].
func (s *Store) List(ctx context.Context) ([]lease.Member, error) {
	found := map[string]lease.Member{}
	err := s.scan(ctx, s.keys.NodeGlob(), func(keys []string) error {
		keys = slices.DeleteFunc(keys, func(key string) bool { return !s.isNode(key) })

		return s.readMembers(ctx, keys, found)
	})
	if err != nil {
		return nil, fmt.Errorf("list the nodes: %w", err)
	}
	members := make([]lease.Member, 0, len(found))
	for _, m := range found {
		members = append(members, m)
	}
	slices.SortFunc(members, func(a, b lease.Member) int { return strings.Compare(a.Instance, b.Instance) })

	return members, nil
}

func (s *Store) isNode(key string) bool {
	kind, name := s.keys.Parse(key)
	if kind == rediskey.Node && name == "" {
		s.opts.OnForeign(key, "a heartbeat without a name")
	}

	return kind == rediskey.Node && name != ""
}

func (s *Store) readMembers(ctx context.Context, keys []string, found map[string]lease.Member) error {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	p := s.client.Pipeline()
	types, ttls := make([]*redis.StatusCmd, len(keys)), make([]*redis.DurationCmd, len(keys))
	for i, key := range keys {
		types[i], ttls[i] = p.Type(ctx, key), p.PTTL(ctx, key)
	}
	if _, err := p.Exec(ctx); err != nil {
		return err
	}
	for i, key := range keys {
		_, name := s.keys.Parse(key)
		switch kind := types[i].Val(); {
		case kind != "string" && kind != "none":
			s.opts.OnForeign(key, "a heartbeat of the foreign type "+kind)
		case ttls[i].Val() == lease.NoExpiry:
			s.opts.OnForeign(key, "a heartbeat without an expiry")
		case ttls[i].Val() > 0:
			found[name] = lease.Member{Instance: name, Remaining: ttls[i].Val()}
		}
	}

	return nil
}

// Check reads the heartbeats of the instances named, in their order. A heartbeat
// past its deadline is removed by the reading, which makes Redis announce it.
func (s *Store) Check(ctx context.Context, instances []string) ([]lease.Member, error) {
	members := make([]lease.Member, len(instances))
	if len(instances) == 0 {
		return members, nil
	}
	ctx, cancel := s.bound(ctx)
	defer cancel()
	p := s.client.Pipeline()
	ttls := make([]*redis.DurationCmd, len(instances))
	for i, name := range instances {
		ttls[i] = p.PTTL(ctx, s.keys.Node(name))
	}
	if _, err := p.Exec(ctx); err != nil {
		return nil, fmt.Errorf("check %d nodes: %w", len(instances), err)
	}
	for i, name := range instances {
		members[i] = lease.Member{Instance: name, Remaining: max(0, ttls[i].Val())}
		if ttls[i].Val() == lease.NoExpiry {
			s.opts.OnForeign(s.keys.Node(name), "a heartbeat without an expiry")
		}
	}

	return members, nil
}
