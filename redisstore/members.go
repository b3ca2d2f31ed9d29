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
	keys := []string{s.keys.Node(instance), s.keys.Card(instance), s.keys.Cordon(instance)}
	gone := make([]*redis.IntCmd, len(keys)) // of single keys: they lie in different slots
	s.pipelines(ctx, len(keys), func(i int) string { return keys[i] }, func(p redis.Pipeliner, i int) {
		gone[i] = p.Del(ctx, keys[i])
	})
	if err := gone[0].Err(); err != nil { // the others have a TTL
		return fmt.Errorf("remove the heartbeat: %w", err)
	}

	return nil
}

// List finds all live instances by scanning, sorted by name. Keys that are no
// heartbeats are left out and reported: see [Options.OnForeign]. With an error the list
// may lack some.
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
	members, unread := s.readMembers(ctx, slices.Sorted(maps.Keys(found)))
	members = slices.DeleteFunc(members, func(m lease.Member) bool { return m.Remaining <= 0 })
	if err := errors.Join(err, unread); err != nil {
		return members, fmt.Errorf("list the nodes: %w", err)
	}

	return members, nil
}

func (s *Store) nodeOf(key string) (name string, ok bool) {
	kind, name := s.keys.Parse(key)
	if kind == rediskey.Node && name == "" {
		s.opts.OnForeign(key, "a heartbeat without a name")
	}

	return name, kind == rediskey.Node && name != ""
}

// Check reads the heartbeats of the instances named, in their order. A heartbeat
// past its deadline is removed by the reading, which makes Redis announce it. With an
// error the list lacks some.
func (s *Store) Check(ctx context.Context, instances []string) ([]lease.Member, error) {
	members, err := s.readMembers(ctx, instances)
	if err != nil {
		return members, fmt.Errorf("check %d nodes: %w", len(instances), err)
	}

	return members, nil
}

// maxCordon is more than the longest cordon.
const maxCordon = 16

// readMembers reads heartbeats, in their order, and reports those that are none. It leaves
// out, with an error, those of which the server does not tell.
func (s *Store) readMembers(ctx context.Context, instances []string) ([]lease.Member, error) {
	members := make([]lease.Member, 0, len(instances))
	var errs []error
	read := s.readTogether
	if s.cluster {
		read = s.readApart
	}
	for part := range slices.Chunk(instances, s.opts.BatchSize) {
		bounded, cancel := s.bound(ctx)
		pulses, err := read(bounded, part)
		cancel()
		if err != nil && pulses == nil {
			return members, err
		}
		errs = append(errs, err)
		for i, p := range pulses {
			if p.kind != "" {
				members = append(members, s.member(part[i], p))
			}
		}
	}

	return members, errors.Join(errs...)
}

// pulse is what a reading of a heartbeat found.
type pulse struct {
	kind   string // type of the key; empty: it could not be read
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

// readApart reads heartbeats by commands of single keys, which lie in different slots. A
// key that is no cordon must not hide the heartbeat.
func (s *Store) readApart(ctx context.Context, instances []string) ([]pulse, error) {
	n := len(instances)
	kinds, lefts, cordons := make([]*redis.StatusCmd, n), make([]*redis.Cmd, n), make([]*redis.StringCmd, n)
	key := func(i int) string {
		if i < n {
			return s.keys.Node(instances[i])
		}

		return s.keys.Cordon(instances[i-n])
	}
	s.pipelines(ctx, 2*n, key, func(p redis.Pipeliner, i int) {
		if i < n {
			kinds[i], lefts[i] = p.Type(ctx, key(i)), p.Do(ctx, "PTTL", key(i))

			return
		}
		cordons[i-n] = p.GetRange(ctx, key(i), 0, maxCordon-1) // empty where there is none
	})
	pulses := make([]pulse, n)
	var errs []error
	for i := range pulses {
		left, err := lefts[i].Int64()
		if err = errors.Join(kinds[i].Err(), err); err == nil && !noCordon(cordons[i].Err()) {
			err = cordons[i].Err() // it may be one that keeps the node out of the plan
		}
		if err != nil {
			errs = append(errs, err)

			continue
		}
		pulses[i] = pulse{kind: kinds[i].Val(), left: left, cordon: cordons[i].Val()}
	}

	return pulses, errors.Join(errs...)
}

// noCordon reports whether the answer says that a key is none.
func noCordon(err error) bool {
	return redis.HasErrorPrefix(err, "WRONGTYPE") || redis.HasErrorPrefix(err, "NOPERM")
}
