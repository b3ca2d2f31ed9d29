package sim

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"leasehold/rediskey"
)

const (
	leases     = "poll:lease:"
	heartbeats = "poll:node:"
	cordons    = "poll:cordon:"
)

// keyKinds are troubles with what the fleet keeps in Redis.
func keyKinds() []kind {
	return []kind{
		{"all run out", 1, nil, func(w *world, _ Fault) (string, func()) {
			for _, key := range append(w.keys(leases), w.keys(heartbeats)...) {
				w.client().PExpire(context.Background(), key, time.Millisecond)
			}
			return "leases and heartbeats", nil
		}},
		onLeases("leases deleted", 2, func(c redis.Cmdable, key string) { c.Del(context.Background(), key) }),
		onLeases("leases persisted", 1, func(c redis.Cmdable, key string) { c.Persist(context.Background(), key) }),
		curable(onLeases("leases of a wrong type", 1, func(c redis.Cmdable, key string) {
			ctx := context.Background()
			c.Del(ctx, key)
			c.RPush(ctx, key, "x")
		})),
		onLeases("states deleted", 1, func(c redis.Cmdable, key string) {
			id := strings.TrimPrefix(key, leases)
			c.Del(context.Background(), rediskey.Default().State(id))
		}),
		{"heartbeat deleted", 1, nil, func(w *world, f Fault) (string, func()) {
			m := w.node(f)
			if m == nil {
				return "", nil
			}
			w.client().Del(context.Background(), heartbeats+m.Name)
			return m.Name, nil
		}},
		{"events forged", 1, many, func(w *world, f Fault) (string, func()) {
			name := []string{"expired", "del", "set", "nonsense"}[f.Which%4]
			keys := slices.Concat(some(w.keys(leases), f), some(w.keys(heartbeats), f), some(w.keys("session:"), f))
			for _, key := range append(keys, "poll:lease:", "session:", "session:nobody's", leases+strings.Repeat("x", 600)) {
				w.fleet.Events.Forge(0, key, name)
			}
			return name, nil
		}},
	}
}

// many draws how many keys are hit: mostly few.
func many(rnd *rand.Rand, _ Timings, f *Fault) { f.Count = skewed(rnd, 1, 50) }

// onLeases is trouble with some leases.
func onLeases(name string, weight int, do func(c redis.Cmdable, key string)) kind {
	return kind{name, weight, many, func(w *world, f Fault) (string, func()) {
		hit := some(w.keys(leases), f)
		for _, key := range hit {
			do(w.client(), key)
		}
		return strings.Join(hit, " "), nil
	}}
}

// curable is trouble with leases that ends when somebody deletes what lies there,
// since the fleet touches no key of a foreign type.
func curable(k kind) kind {
	do := k.do
	k.do = func(w *world, f Fault) (string, func()) {
		hit, _ := do(w, f)
		return hit, func() {
			for key := range strings.SplitSeq(hit, " ") {
				if w.fleet.Mini.Exists(key) && w.fleet.Mini.Type(key) == "list" {
					w.client().Del(context.Background(), key)
				}
			}
		}
	}
	return k
}

// cure deletes what lies of a foreign type where leases belong, and cordons, also
// where a server with older data brought them back.
func (w *world) cure() {
	for _, key := range w.keys(cordons) {
		w.client().Del(context.Background(), key)
	}
	for _, key := range w.keys(leases) {
		if w.fleet.Mini.Type(key) != "string" {
			w.client().Del(context.Background(), key)
		}
	}
}

// some picks the keys that a fault hits.
func some(keys []string, f Fault) []string {
	var hit []string
	for i := range min(f.Count, len(keys)) {
		hit = append(hit, keys[(int(f.Which%uint32(len(keys)))+i)%len(keys)])
	}
	return hit
}

func (w *world) client() redis.Cmdable { return w.fleet.Client }

// keys lists the keys under a prefix, in order.
func (w *world) keys(prefix string) []string {
	var keys []string
	for _, key := range w.fleet.Mini.Keys() {
		if strings.HasPrefix(key, prefix) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}
