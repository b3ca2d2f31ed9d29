package redisstore

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"leasehold/rediskey"
	"leasehold/session"
)

// Page takes one step of a listing of all documents: see [session.Pager]. A cursor
// is SCAN's, in a cluster behind the address of the master that it belongs to: the
// masters are gone through in the order of their addresses.
func (s *Store) Page(ctx context.Context, cursor string, count int) (ids []string, next string, err error) {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	if cc, ok := s.client.(*redis.ClusterClient); ok {
		ids, next, err = s.pageCluster(ctx, cc, cursor, count)
	} else {
		ids, next, err = s.pageNode(ctx, s.client, cursor, count)
	}
	if err != nil {
		return nil, "", fmt.Errorf("list the sessions: %w", err)
	}

	return ids, next, nil
}

func (s *Store) pageNode(ctx context.Context, node redis.Cmdable, cursor string, count int) ([]string, string, error) {
	var at uint64
	if cursor != "" {
		var err error
		if at, err = strconv.ParseUint(cursor, 10, 64); err != nil {
			return nil, "", session.ErrCursor
		}
	}
	keys, after, err := node.Scan(ctx, at, s.keys.SessionGlob(), int64(count)).Result()
	if err != nil {
		return nil, "", err
	}
	ids := make([]string, 0, len(keys))
	for _, key := range keys {
		if kind, id := s.keys.Parse(key); kind == rediskey.Session {
			ids = append(ids, id)
		}
	}
	if after == 0 {
		return ids, "", nil
	}

	return ids, strconv.FormatUint(after, 10), nil
}

func (s *Store) pageCluster(ctx context.Context, cc *redis.ClusterClient, cursor string, count int) ([]string, string, error) {
	masters, err := mastersOf(ctx, cc)
	if err != nil {
		return nil, "", err
	}
	addr, at, cut := strings.Cut(cursor, "/")
	if cursor != "" && !cut {
		return nil, "", session.ErrCursor
	}
	i, same := slices.BinarySearchFunc(masters, addr, func(c *redis.Client, addr string) int {
		return strings.Compare(c.Options().Addr, addr)
	})
	if i == len(masters) {
		return nil, "", nil
	}
	if !same { // the start, or a master that has gone
		at = ""
	}
	ids, next, err := s.pageNode(ctx, masters[i], at, count)
	switch {
	case err != nil:
		return nil, "", err
	case next != "":
		return ids, masters[i].Options().Addr + "/" + next, nil
	case i+1 < len(masters):
		return ids, masters[i+1].Options().Addr + "/", nil
	}

	return ids, "", nil
}
