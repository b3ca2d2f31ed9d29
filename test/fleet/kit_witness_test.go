package fleet

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"leasehold/internal/redistest"
	"leasehold/lease"
	"leasehold/test/fleet/check"
)

// every is how often the leases are read.
const every = 50 * time.Millisecond

// witness reads the leases and tokens of a fleet over and over.
type witness struct {
	f *fleet

	mu     sync.Mutex
	from   *redis.Client
	leases []check.LeaseSample
}

// look has the leases read from another server from now on.
func (w *witness) look(from *redis.Client) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.from = from
}

func startWitness(f *fleet) *witness {
	w := &witness{f: f, from: f.rdb}
	if f.plan.replica {
		r := redistest.StartServer(f.t, "--replicaof", "127.0.0.1", strconv.Itoa(f.redis.Port))
		w.from = f.client(r)
		// The replica calls the link up before the server sends what is new over it.
		until(f.t, readyLimit, "the replica follows", func() bool {
			return strings.Contains(f.rdb.Info(f.t.Context(), "replication").Val(), ",state=online,")
		})
		// Nor does it send before the replica's first acknowledgment, a second later.
		const probe = "witness:probe"
		f.rdb.Set(f.t.Context(), probe, "", 0)
		if n := f.rdb.Wait(f.t.Context(), 1, readyLimit).Val(); n != 1 {
			f.t.Fatal("the replica acknowledges nothing")
		}
		f.rdb.Del(f.t.Context(), probe)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { w.run(ctx) })
	f.t.Cleanup(func() { cancel(); running.Wait() })
	return w
}

func (w *witness) run(ctx context.Context) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			w.round(ctx)
		}
	}
}

// round reads the lease and the token of every session in one transaction: a token
// never belongs to another holder than the one it is noted with.
func (w *witness) round(ctx context.Context) {
	ids := w.f.known()
	holders := make([]*redis.StringCmd, len(ids))
	tokens := make([]*redis.StringCmd, len(ids))
	ends := make([]*redis.DurationCmd, len(ids))
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	w.mu.Lock()
	from := w.from
	w.mu.Unlock()
	at, wall := w.f.target.Now(), time.Now()
	var clock *redis.TimeCmd
	_, _ = from.TxPipelined(ctx, func(p redis.Pipeliner) error {
		clock = p.Time(ctx)
		for i, id := range ids {
			holders[i] = p.Get(ctx, w.f.keys.Lease(id))
			tokens[i] = p.HGet(ctx, w.f.keys.State(id), "version")
			ends[i] = p.PExpireTime(ctx, w.f.keys.Lease(id))
		}
		return nil
	})
	if w.f.target.Now()-at > check.OwnerTolerance/2 {
		return // it waited for a server, and shows another moment
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, id := range ids {
		holder, err := holders[i].Result()
		if err != nil && !errors.Is(err, redis.Nil) {
			continue // no Redis, or no lease of ours
		}
		token, _ := tokens[i].Int64()
		sample := check.LeaseSample{Session: id, Holder: holder, Token: lease.Token(token), At: at}
		if now, err := clock.Result(); err == nil {
			sample.Clock = lease.Token(now.UnixMicro())
		}
		if end := ends[i].Val(); end > 0 { // on Redis' clock, which is this machine's
			sample.Until = at + time.UnixMilli(end.Milliseconds()).Sub(wall)
		}
		w.leases = append(w.leases, sample)
	}
}

// samples returns what was read so far.
func (w *witness) samples() []check.LeaseSample {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.leases)
}

// change is what Redis announced of a key.
type change struct {
	event, key string
	at         time.Time
}

// watch subscribes to what Redis announces of the fleet's database, and returns what
// came so far. The flags are set here, so that nothing is missed from the start on.
func (f *fleet) watch(events ...string) func() []change {
	f.t.Helper()
	ctx := f.t.Context()
	if err := f.rdb.ConfigSet(ctx, "notify-keyspace-events", "KEgx$e").Err(); err != nil {
		f.t.Fatal(err)
	}
	prefix := fmt.Sprintf("__keyevent@%d__:", f.plan.db)
	channels := make([]string, len(events))
	for i, e := range events {
		channels[i] = prefix + e
	}
	sub := f.rdb.Subscribe(ctx, channels...)
	for range channels {
		if _, err := sub.Receive(ctx); err != nil {
			f.t.Fatal(err)
		}
	}
	var mu sync.Mutex
	var seen []change
	var running sync.WaitGroup
	running.Go(func() {
		for m := range sub.Channel(redis.WithChannelSize(100_000)) {
			now := time.Now()
			mu.Lock()
			seen = append(seen, change{event: strings.TrimPrefix(m.Channel, prefix), key: m.Payload, at: now})
			mu.Unlock()
		}
	})
	f.t.Cleanup(func() { _ = sub.Close(); running.Wait() })
	return func() []change {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(seen)
	}
}
