package doctor

import (
	"context"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

	"leasehold/rediskey"
)

const (
	// lookAtMost bounds the keys that are looked at.
	lookAtMost = 20_000
	// nameAtMost bounds those that are named.
	nameAtMost = 3
	scanCount  = 1000
)

// strays are keys that the fleet can't use, by what is wrong with them.
type strays struct {
	seen    int
	foreign []string // under the fleet's prefix, and not the fleet's
	wrong   []string // a lease, state or heartbeat of a wrong type
	useless []string // a document of a wrong type
	lasting []string // a lease or heartbeat that never runs out
}

// collisions looks for keys of others under the fleet's prefixes.
func collisions(ctx context.Context, p *patient) []Finding {
	var s strays
	for _, pattern := range []string{rediskey.Glob(p.cfg.Keys.Prefix), p.cfg.Keys.SessionGlob()} {
		if err := p.scan(ctx, pattern, &s); err != nil {
			return []Finding{unknown("", "the keys could not be looked at: %v", err)}
		}
	}
	var all []Finding
	if len(s.wrong) > 0 {
		all = append(all, unsafe("another program writes there: remove its keys, or give the fleet other prefixes (LEASEHOLD_KEY_PREFIX, LEASEHOLD_SESSION_PREFIX)",
			"keys of a foreign type: %s", named(s.wrong)))
	}
	if len(s.useless) > 0 {
		all = append(all, warning("write the document as a string (SET), or change LEASEHOLD_SESSION_PREFIX on all nodes",
			"documents of a foreign type, which are never polled: %s", named(s.useless)))
	}
	if len(s.lasting) > 0 {
		all = append(all, warning("see who wrote them: PERSIST or SET without PX; then DEL them",
			"leases or heartbeats that never run out: %s", named(s.lasting)))
	}
	if len(s.foreign) > 0 {
		all = append(all, warning("see whether another program uses the prefix, and change LEASEHOLD_KEY_PREFIX on all nodes",
			"keys under %q that are not the fleet's: %s", p.cfg.Keys.Prefix, named(s.foreign)))
	}
	if len(all) == 0 {
		all = append(all, fine("%d keys under the fleet's prefixes, none of others", s.seen))
	}
	return all
}

func (p *patient) scan(ctx context.Context, pattern string, s *strays) error {
	for cursor := uint64(0); s.seen < lookAtMost; {
		keys, next, err := p.rdb.Scan(ctx, cursor, pattern, scanCount).Result()
		if err != nil {
			return err
		}
		if err := p.sort(ctx, keys, s); err != nil {
			return err
		}
		if next == 0 {
			return nil
		}
		cursor = next
	}
	return nil
}

func (p *patient) sort(ctx context.Context, keys []string, s *strays) error {
	s.seen += len(keys)
	pipe := p.rdb.Pipeline()
	types, ttls := make([]*redis.StatusCmd, len(keys)), make([]*redis.DurationCmd, len(keys))
	for i, key := range keys {
		types[i], ttls[i] = pipe.Type(ctx, key), pipe.PTTL(ctx, key)
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return err
	}
	for i, key := range keys {
		kind, _ := p.cfg.Keys.Parse(key)
		have, want := types[i].Val(), "string"
		if kind == rediskey.State {
			want = "hash"
		}
		switch {
		case have == "none", key == p.cfg.ResultStream && have == "stream", strings.HasPrefix(key, p.cfg.Keys.Prefix+doctorPart):
		case kind == rediskey.Foreign && key != p.cfg.ResultStream:
			s.foreign = append(s.foreign, key)
		case have != want && kind == rediskey.Session:
			s.useless = append(s.useless, key+" ("+have+")")
		case have != want:
			s.wrong = append(s.wrong, key+" ("+have+")")
		case (kind == rediskey.Lease || kind == rediskey.Node || kind == rediskey.Loss) && ttls[i].Val() == -1:
			s.lasting = append(s.lasting, key)
		}
	}
	return nil
}

func named(keys []string) string {
	var shown []string
	for _, key := range keys[:min(len(keys), nameAtMost)] {
		shown = append(shown, rediskey.Display(key))
	}
	text := strings.Join(shown, ", ")
	if more := len(keys) - len(shown); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
