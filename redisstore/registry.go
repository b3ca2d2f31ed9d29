package redisstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"leasehold/lease"
)

// Publish writes the card of a node, and keeps its cordon alive.
func (s *Store) Publish(ctx context.Context, c lease.Card, ttl time.Duration) error {
	text, err := json.Marshal(c)
	if err != nil {
		return fmt.Errorf("encode the card: %w", err)
	}
	ctx, cancel := s.bound(ctx)
	defer cancel()
	p := s.client.Pipeline()
	p.Do(ctx, "SET", s.keys.Card(c.Instance), text, "PX", millis(ttl))
	p.Do(ctx, "PEXPIRE", s.keys.Cordon(c.Instance), millis(lease.CordonTTL))
	if _, err := p.Exec(ctx); err != nil {
		return fmt.Errorf("write the card: %w", err)
	}

	return nil
}

// Retire removes the card of a node that has stopped.
func (s *Store) Retire(ctx context.Context, instance string) error {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	if err := s.client.Do(ctx, "DEL", s.keys.Card(instance)).Err(); err != nil {
		return fmt.Errorf("remove the card: %w", err)
	}

	return nil
}

// Cards reads the cards of the instances named. One that can't be read counts as
// absent: it says nothing that leases depend on.
func (s *Store) Cards(ctx context.Context, instances []string) ([]*lease.Card, error) {
	cards := make([]*lease.Card, len(instances))
	if len(instances) == 0 {
		return cards, nil
	}
	ctx, cancel := s.bound(ctx)
	defer cancel()
	p := s.client.Pipeline()
	texts := make([]*redis.StringCmd, len(instances))
	for i, name := range instances {
		texts[i] = p.Get(ctx, s.keys.Card(name))
	}
	_, _ = p.Exec(ctx) // each command has its own error
	for i, cmd := range texts {
		text, err := cmd.Bytes()
		switch {
		case err == nil:
			card := new(lease.Card)
			if json.Unmarshal(text, card) == nil {
				cards[i] = card
			}
		case errors.Is(err, redis.Nil), redis.HasErrorPrefix(err, "WRONGTYPE"):
		default:
			return nil, fmt.Errorf("read the cards of %d nodes: %w", len(instances), err)
		}
	}

	return cards, nil
}

// LiveCards reads the cards of all nodes that are alive, in the order of their names;
// nil for each that has none.
func (s *Store) LiveCards(ctx context.Context) ([]*lease.Card, error) {
	members, err := s.List(ctx)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(members))
	for i, m := range members {
		names[i] = m.Instance
	}

	return s.Cards(ctx, names)
}

// SetCordon changes what is wanted of an instance.
func (s *Store) SetCordon(ctx context.Context, instance string, c lease.Cordon) error {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	key := s.keys.Cordon(instance)
	args := []any{"DEL", key}
	if c != lease.Open {
		args = []any{"SET", key, string(c), "PX", millis(lease.CordonTTL)}
	}
	if err := s.client.Do(ctx, args...).Err(); err != nil {
		return fmt.Errorf("write the cordon of %q: %w", instance, err)
	}

	return nil
}
