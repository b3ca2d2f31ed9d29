package demo

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"leasehold/redisevents/emulator"
	"leasehold/rediskey"
	"leasehold/redisstore"
)

const (
	// callLimit bounds one call to Redis, of a whole pipeline.
	callLimit = 5 * time.Second
	// perCall is how many commands a pipeline has.
	perCall = 500

	// A document in a Redis of the user's runs out if the demo is killed.
	documentTTL   = 10 * time.Minute
	documentRenew = 2 * time.Minute

	// sweep is for what changes without a command, of which there is nothing here.
	sweep = 5 * time.Second

	notifyFlags = "notify-keyspace-events"
)

// backend is the fleet's Redis as the demo uses it.
type backend struct {
	// Set once.
	url, shown string
	keys       rediskey.Keys
	client     redis.UniversalClient
	own        bool // embedded
	mini       *miniredis.Miniredis
	events     *emulator.Emulator

	// flags are the user's notification flags by server, as they were before and as
	// the nodes left them.
	flags, set map[string]string
}

// embedded starts a Redis of the demo's own on a free port of the loopback.
func embedded(sessions int) (*backend, error) {
	mini := miniredis.NewMiniRedis()
	if err := mini.StartAddr("127.0.0.1:0"); err != nil {
		return nil, fmt.Errorf("start the embedded Redis: %w", err)
	}
	events, err := emulator.Start(mini, emulator.Options{Tick: resolution(sessions), Sweep: sweep})
	if err != nil {
		mini.Close()
		return nil, fmt.Errorf("start the embedded Redis: %w", err)
	}
	url := "redis://" + mini.Addr() + "/0"
	b := &backend{url: url, shown: url, keys: rediskey.Default(), own: true, mini: mini, events: events}
	if b.client, err = redisstore.Open(url, redisstore.OpenOptions{Timeout: callLimit}); err != nil {
		b.closeEmbedded()
		return nil, err
	}
	return b, nil
}

// resolution of the clock of an embedded Redis, which looks at all its keys at each
// step of it.
func resolution(sessions int) time.Duration {
	return 2*time.Millisecond + time.Duration(sessions)*10*time.Microsecond
}

// borrowed uses the user's Redis under a prefix that nobody else has.
func borrowed(ctx context.Context, r *Redis) *backend {
	var random [4]byte
	_, _ = rand.Read(random[:]) // never fails: it ends the process instead
	prefix := "leasehold-demo:" + hex.EncodeToString(random[:]) + ":"
	b := &backend{
		url: r.URL, shown: r.Shown, client: r.Client,
		keys: rediskey.Keys{Prefix: prefix + "poll:", SessionPrefix: prefix + "session:"},
	}
	b.flags = b.readFlags(ctx)
	return b
}

// sessionID of the session with that number, from 1 on.
func sessionID(n int) string { return fmt.Sprintf("s-%02d", n) }

// pipe runs a command for each session, many a call. What a command adds may be kept
// by the caller, which reads it when pipe has returned.
func (b *backend) pipe(ctx context.Context, sessions int, add func(ctx context.Context, p redis.Pipeliner, id string)) error {
	for first := 1; first <= sessions; first += perCall {
		if err := b.pipePart(ctx, first, min(sessions, first+perCall-1), add); err != nil {
			return err
		}
	}
	return nil
}

func (b *backend) pipePart(ctx context.Context, first, end int, add func(context.Context, redis.Pipeliner, string)) error {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	p := b.client.Pipeline()
	for n := first; n <= end; n++ {
		add(ctx, p, sessionID(n))
	}
	if _, err := p.Exec(ctx); err != nil && !errors.Is(err, redis.Nil) {
		return err
	}
	return nil
}

// document is a session document with the fields that the demo uses.
type document struct {
	URL      string `json:"url"`
	Interval string `json:"interval"`
	Timeout  string `json:"timeout"`
}

// writeDocuments writes the sessions' documents, or writes them anew so that they
// live on.
func (b *backend) writeDocuments(ctx context.Context, sessions int, url func(id string) string) error {
	keep := documentTTL
	if b.own {
		keep = 0
	}
	err := b.pipe(ctx, sessions, func(ctx context.Context, p redis.Pipeliner, id string) {
		text, err := json.Marshal(document{
			URL:      url(id) + "?delay=" + strconv.FormatInt(answerDelay.Milliseconds(), 10),
			Interval: pollInterval(sessions).String(), Timeout: pollTimeout.String(),
		})
		if err == nil { // strings always can be written as JSON
			p.Set(ctx, b.keys.Session(id), text, keep)
		}
	})
	if err != nil {
		return fmt.Errorf("write the session documents: %w", err)
	}
	return nil
}

// holders returns how many leases each instance holds.
func (b *backend) holders(ctx context.Context, sessions int) (map[string]int, error) {
	gets := make([]*redis.StringCmd, 0, sessions)
	err := b.pipe(ctx, sessions, func(ctx context.Context, p redis.Pipeliner, id string) {
		gets = append(gets, p.Get(ctx, b.keys.Lease(id)))
	})
	if err != nil {
		return nil, fmt.Errorf("read the leases: %w", err)
	}
	held := map[string]int{}
	for _, get := range gets {
		if get.Val() != "" {
			held[get.Val()]++
		}
	}
	return held, nil
}

// clean removes all keys of the demo. It needs no scan: the names are known.
func (b *backend) clean(ctx context.Context, sessions int, instances []string) error {
	err := b.pipe(ctx, sessions, func(ctx context.Context, p redis.Pipeliner, id string) {
		for _, key := range []string{b.keys.Session(id), b.keys.Lease(id), b.keys.State(id)} {
			p.Del(ctx, key)
		}
	})
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	for _, instance := range instances {
		err = errors.Join(err, b.client.Del(ctx, b.keys.Node(instance)).Err())
	}
	if err != nil {
		return fmt.Errorf("remove the demo's keys, which begin with %s: %w", b.keys.SessionPrefix, err)
	}
	return nil
}

// eachServer calls do for each server that announces changes of keys.
func (b *backend) eachServer(ctx context.Context, do func(context.Context, *redis.Client) error) error {
	switch c := b.client.(type) {
	case *redis.Client:
		return do(ctx, c)
	case *redis.ClusterClient:
		return c.ForEachMaster(ctx, do)
	default:
		return nil
	}
}

// readFlags returns the notification flags by server, of those that tell.
func (b *backend) readFlags(ctx context.Context) map[string]string {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	var mu sync.Mutex
	flags := map[string]string{}
	_ = b.eachServer(ctx, func(ctx context.Context, c *redis.Client) error {
		if got, err := c.ConfigGet(ctx, notifyFlags).Result(); err == nil {
			mu.Lock()
			defer mu.Unlock()
			flags[c.Options().Addr] = got[notifyFlags]
		}
		return nil // a server that does not tell is left as it is
	})
	return flags
}

// noteFlags remembers what the nodes have made of the flags.
func (b *backend) noteFlags(ctx context.Context) { b.set = b.readFlags(ctx) }

// restoreFlags undoes what the nodes did to the flags, where nobody else has changed
// them since.
func (b *backend) restoreFlags(ctx context.Context) error {
	now := b.readFlags(ctx)
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	return b.eachServer(ctx, func(ctx context.Context, c *redis.Client) error {
		addr := c.Options().Addr
		before, known := b.flags[addr]
		if !known || now[addr] == before || now[addr] != b.set[addr] {
			return nil
		}
		if err := c.ConfigSet(ctx, notifyFlags, before).Err(); err != nil {
			return fmt.Errorf("set %s of %s back to %q: %w", notifyFlags, addr, before, err)
		}
		return nil
	})
}

// close leaves Redis as it was. A Redis of the demo's own just ends.
func (b *backend) close(ctx context.Context, sessions int, instances []string) error {
	if b.own {
		_ = b.client.Close() // nothing is left to lose
		b.closeEmbedded()
		return nil
	}
	return errors.Join(b.clean(ctx, sessions, instances), b.restoreFlags(ctx))
}

func (b *backend) closeEmbedded() {
	b.events.Close()
	b.mini.Close()
}
