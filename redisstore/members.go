package redisstore

import (
	"context"
	"errors"
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

// Leave removes the instance's heartbeat, its card and its cordon.
func (s *Store) Leave(ctx context.Context, instance string) error {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	p := s.client.Pipeline() // of single keys: they lie in different slots
	gone := p.Del(ctx, s.keys.Node(instance))
	p.Del(ctx, s.keys.Card(instance))
	p.Del(ctx, s.keys.Cordon(instance))
	_, _ = p.Exec(ctx) // the others have a TTL
	if err := gone.Err(); err != nil {
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
	types, reads := make([]*redis.StatusCmd, len(keys)), make([]memberRead, len(keys))
	for i, key := range keys {
		_, name := s.keys.Parse(key)
		types[i], reads[i] = p.Type(ctx, key), s.readMember(ctx, p, name)
	}
	_, _ = p.Exec(ctx) // each command has its own error
	for i, key := range keys {
		if err := errors.Join(types[i].Err(), reads[i].ttl.Err()); err != nil {
			return err
		}
		name := reads[i].instance
		switch kind := types[i].Val(); {
		case kind != "string" && kind != "none":
			s.opts.OnForeign(key, "a heartbeat of the foreign type "+kind)
		case reads[i].ttl.Val() == lease.NoExpiry:
			s.opts.OnForeign(key, "a heartbeat without an expiry")
		case reads[i].ttl.Val() > 0:
			found[name] = reads[i].member()
		}
	}

	return nil
}

// memberRead is a reading of one member that is under way.
type memberRead struct {
	instance string
	ttl      *redis.DurationCmd
	cordon   *redis.StringCmd
}

// readMember adds the reading to a pipeline. A key that is no cordon must not hide
// the heartbeat, so its error is not looked at.
func (s *Store) readMember(ctx context.Context, p redis.Pipeliner, instance string) memberRead {
	return memberRead{
		instance: instance,
		ttl:      p.PTTL(ctx, s.keys.Node(instance)),
		cordon:   p.GetRange(ctx, s.keys.Cordon(instance), 0, maxCordon), // empty where there is none
	}
}

// maxCordon is more than the longest cordon.
const maxCordon = 15

func (r memberRead) member() lease.Member {
	return lease.Member{
		Instance: r.instance, Remaining: max(0, r.ttl.Val()), Cordon: lease.CordonOf(r.cordon.Val()),
	}
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
	reads := make([]memberRead, len(instances))
	for i, name := range instances {
		reads[i] = s.readMember(ctx, p, name)
	}
	_, _ = p.Exec(ctx) // each command has its own error
	for i, name := range instances {
		if err := reads[i].ttl.Err(); err != nil {
			return nil, fmt.Errorf("check %d nodes: %w", len(instances), err)
		}
		members[i] = reads[i].member()
		if reads[i].ttl.Val() == lease.NoExpiry {
			s.opts.OnForeign(s.keys.Node(name), "a heartbeat without an expiry")
		}
	}

	return members, nil
}
