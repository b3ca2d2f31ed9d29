package redisstore

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
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
	found := map[string]bool{}
	err := s.scan(ctx, s.keys.NodeGlob(), func(keys []string) error {
		for _, key := range keys {
			if name, ok := s.nodeOf(key); ok {
				found[name] = true
			}
		}

		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list the nodes: %w", err)
	}
	members, err := s.readMembers(ctx, slices.Sorted(maps.Keys(found)))
	if err != nil {
		return nil, fmt.Errorf("list the nodes: %w", err)
	}

	return slices.DeleteFunc(members, func(m lease.Member) bool { return m.Remaining <= 0 }), nil
}

func (s *Store) nodeOf(key string) (name string, ok bool) {
	kind, name := s.keys.Parse(key)
	if kind == rediskey.Node && name == "" {
		s.opts.OnForeign(key, "a heartbeat without a name")
	}

	return name, kind == rediskey.Node && name != ""
}

// Check reads the heartbeats of the instances named, in their order. A heartbeat
// past its deadline is removed by the reading, which makes Redis announce it.
func (s *Store) Check(ctx context.Context, instances []string) ([]lease.Member, error) {
	members, err := s.readMembers(ctx, instances)
	if err != nil {
		return nil, fmt.Errorf("check %d nodes: %w", len(instances), err)
	}

	return members, nil
}

// maxCordon is more than the longest cordon.
const maxCordon = 16

// readMembers reads heartbeats, in their order, and reports those that are none.
func (s *Store) readMembers(ctx context.Context, instances []string) ([]lease.Member, error) {
	members := make([]lease.Member, 0, len(instances))
	read := s.readTogether
	if s.cluster {
		read = s.readApart
	}
	for part := range slices.Chunk(instances, s.opts.BatchSize) {
		bounded, cancel := s.bound(ctx)
		pulses, err := read(bounded, part)
		cancel()
		if err != nil {
			return nil, err
		}
		for i, p := range pulses {
			members = append(members, s.member(part[i], p))
		}
	}

	return members, nil
}

// pulse is what a reading of a heartbeat found.
type pulse struct {
	kind   string // type of the key
	left   int64  // milliseconds; -1 without an expiry, less where there is none
	cordon string
}

func (s *Store) member(instance string, p pulse) lease.Member {
	m := lease.Member{Instance: instance, Cordon: lease.CordonOf(p.cordon)}
	switch {
	case p.kind != "string" && p.kind != "none":
		s.opts.OnForeign(s.keys.Node(instance), "a heartbeat of the foreign type "+p.kind)
	case p.left == -1:
		s.opts.OnForeign(s.keys.Node(instance), "a heartbeat without an expiry")
	default:
		m.Remaining = time.Duration(max(0, p.left)) * time.Millisecond
	}

	return m
}

// readTogether reads heartbeats by one command.
func (s *Store) readTogether(ctx context.Context, instances []string) ([]pulse, error) {
	c := &call{script: s.scripts.members, args: []any{maxCordon}}
	for _, name := range instances {
		c.addKeys(s.keys.Node(name), s.keys.Cordon(name))
	}
	s.exec(ctx, []*call{c})
	const parts = 3
	list, err := c.list(parts * len(instances))
	if err != nil {
		return nil, err
	}
	pulses := make([]pulse, len(instances))
	for i := range pulses {
		p, at := &pulses[i], list[parts*i:]
		p.kind, _ = at[0].(string)
		p.left = integer(at[1])
		p.cordon, _ = at[2].(string)
	}

	return pulses, nil
}

// readApart reads heartbeats by commands of single keys, which lie in different slots.
// A key that is no cordon must not hide the heartbeat, so its error is not looked at.
func (s *Store) readApart(ctx context.Context, instances []string) ([]pulse, error) {
	p := s.client.Pipeline()
	kinds, lefts, cordons := make([]*redis.StatusCmd, len(instances)), make([]*redis.Cmd, len(instances)), make([]*redis.StringCmd, len(instances))
	for i, name := range instances {
		key := s.keys.Node(name)
		kinds[i], lefts[i] = p.Type(ctx, key), p.Do(ctx, "PTTL", key)
		cordons[i] = p.GetRange(ctx, s.keys.Cordon(name), 0, maxCordon-1) // empty where there is none
	}
	_, _ = p.Exec(ctx) // each command has its own error
	pulses := make([]pulse, len(instances))
	for i := range pulses {
		left, err := lefts[i].Int64()
		if err := errors.Join(kinds[i].Err(), err); err != nil {
			return nil, err
		}
		pulses[i] = pulse{kind: kinds[i].Val(), left: left, cordon: cordons[i].Val()}
	}

	return pulses, nil
}
