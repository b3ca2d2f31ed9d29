package emulator_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"leasehold/internal/redistest"
	"leasehold/redisevents/emulator"
)

// operation is one row of what Redis 7 announces, in its order.
type operation struct {
	name string
	// before runs unheard; do is what is listened to.
	before, do func(ctx context.Context, c *redis.Client) error
	want       string // "event key, event key"
}

func do(args ...any) func(context.Context, *redis.Client) error {
	return func(ctx context.Context, c *redis.Client) error {
		err := c.Do(ctx, args...).Err()
		if err == redis.Nil { //nolint:errorlint // never wrapped
			return nil
		}
		return err
	}
}

func all(steps ...func(context.Context, *redis.Client) error) func(context.Context, *redis.Client) error {
	return func(ctx context.Context, c *redis.Client) error {
		for _, step := range steps {
			if err := step(ctx, c); err != nil {
				return err
			}
		}
		return nil
	}
}

func wait(d time.Duration) func(context.Context, *redis.Client) error {
	return func(context.Context, *redis.Client) error {
		time.Sleep(d)
		return nil
	}
}

func script(text string, keys ...any) func(context.Context, *redis.Client) error {
	return do(append([]any{"EVAL", text, len(keys)}, keys...)...)
}

func operations() []operation {
	held := do("SET", "k", "me")
	hour := do("SET", "k", "me", "PX", 3_600_000)
	short := all(do("SET", "k", "me", "PX", 5), wait(20*time.Millisecond))
	return []operation{
		{"claim of a free lease", nil, do("SET", "k", "me", "NX", "PX", 60_000), "set k, expire k"},
		{"claim of a held lease", held, do("SET", "k", "you", "NX", "PX", 60_000), ""},
		{
			"claim of a lease that ran out", nil,
			all(do("SET", "k", "me", "PX", 5), wait(20*time.Millisecond), do("SET", "k", "you", "NX", "PX", 60_000)),
			"set k, expire k, expired k, set k, expire k",
		},
		{"touch of a key that ran out", nil, all(short, do("EXISTS", "k")), "set k, expire k, expired k"},
		{"renewal by PEXPIRE", hour, do("PEXPIRE", "k", 60_000), "expire k"},
		{"renewal of nothing", nil, do("PEXPIRE", "k", 60_000), ""},
		{"renewal by script", hour, script("if redis.call('GET',KEYS[1])=='me' then redis.call('PEXPIRE',KEYS[1],60000) end", "k"), "expire k"},
		{"renewal by a loser", hour, script("if redis.call('GET',KEYS[1])=='you' then redis.call('PEXPIRE',KEYS[1],60000) end", "k"), ""},
		{"claim by script", nil, script("redis.call('SET',KEYS[1],'me','NX','PX',60000)", "k"), "set k, expire k"},
		{"refused claim by script", held, script("redis.call('SET',KEYS[1],'me','NX','PX',60000)", "k"), ""},
		{"release by script", held, script("redis.call('DEL',KEYS[1])", "k"), "del k"},
		{"claim and release in one script", nil, script("redis.call('SET',KEYS[1],'x') redis.call('DEL',KEYS[1])", "k"), "set k, del k"},
		{"heartbeat", hour, do("SET", "k", "1", "PX", 60_000), "set k, expire k"},
		{"heartbeat, XX, gone", nil, do("SET", "k", "1", "XX", "PX", 60_000), ""},
		{"heartbeat, XX", hour, do("SET", "k", "1", "XX", "PX", 60_000), "set k, expire k"},
		{"SET", nil, do("SET", "k", "v"), "set k"},
		{"the same SET again", do("SET", "k", "v"), do("SET", "k", "v"), "set k"},
		{"MSET", nil, do("MSET", "a", 1, "b", 2), "set a, set b"},
		{"DEL of some", do("MSET", "a", 1, "b", 2), do("DEL", "a", "x", "b"), "del a, del b"},
		{"UNLINK", held, do("UNLINK", "k"), "del k"},
		{"DEL of nothing", nil, do("DEL", "k"), ""},
		{"GETDEL", held, do("GETDEL", "k"), "del k"},
		{"PEXPIRE 0", held, do("PEXPIRE", "k", 0), "del k"},
		{"PERSIST", hour, do("PERSIST", "k"), "persist k"},
		{"HSET", nil, do("HSET", "k", "f", "v"), "hset k"},
		{"RENAME", held, do("RENAME", "k", "l"), "rename_from k, rename_to l"},
		{"COPY", held, do("COPY", "k", "l"), "copy_to l"},
		{"COPY onto another", do("MSET", "k", 1, "l", 2), do("COPY", "k", "l"), ""},
		{"COPY REPLACE", do("MSET", "k", 1, "l", 2), do("COPY", "k", "l", "REPLACE"), "copy_to l"},
		{"reading", held, all(do("GET", "k"), do("EXISTS", "k"), do("PTTL", "k"), do("SCAN", 0)), ""},
		{"FLUSHALL", do("MSET", "a", 1, "b", 2), do("FLUSHALL"), ""},
		{"FLUSHDB, then SET", do("MSET", "a", 1, "b", 2), all(do("FLUSHDB"), do("SET", "b", 3)), "set b"},
	}
}

// ear records what a server announces.
type ear struct {
	ps *redis.PubSub

	mu            sync.Mutex
	events, space []string
}

func listen(t *testing.T, c *redis.Client) *ear {
	t.Helper()
	e := &ear{ps: c.PSubscribe(t.Context(), "__key*@*__:*")}
	if _, err := e.ps.Receive(t.Context()); err != nil {
		t.Fatal(err)
	}
	messages := e.ps.Channel(redis.WithChannelHealthCheckInterval(0))
	go func() {
		for m := range messages {
			e.hear(m)
		}
	}()
	return e
}

func (e *ear) hear(m *redis.Message) {
	e.mu.Lock()
	defer e.mu.Unlock()
	_, rest, _ := strings.Cut(m.Channel, "__:")
	if strings.HasPrefix(m.Channel, "__keyevent@0") {
		e.events = append(e.events, rest+" "+m.Payload)
	} else if strings.HasPrefix(m.Channel, "__keyspace@0") {
		e.space = append(e.space, m.Payload+" "+rest)
	}
}

func (e *ear) take() (events, space []string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	events, space, e.events, e.space = e.events, e.space, nil, nil
	return events, space
}

// conform runs the table against one server.
func conform(t *testing.T, c *redis.Client, settle func()) {
	t.Helper()
	ctx := t.Context()
	if err := c.ConfigSet(ctx, "notify-keyspace-events", "KEA").Err(); err != nil {
		t.Fatal(err)
	}
	e := listen(t, c)
	defer func() { _ = e.ps.Close() }()
	for _, o := range operations() {
		if err := c.FlushAll(ctx).Err(); err != nil {
			t.Fatal(err)
		}
		if o.before != nil {
			if err := o.before(ctx, c); err != nil {
				t.Fatalf("%s: %v", o.name, err)
			}
		}
		settle()
		e.take()
		if err := o.do(ctx, c); err != nil {
			t.Fatalf("%s: %v", o.name, err)
		}
		settle()
		events, space := e.take()
		var want []string
		if o.want != "" {
			want = strings.Split(o.want, ", ")
		}
		if !slices.Equal(events, want) {
			t.Errorf("%s: keyevent %q, want %q", o.name, events, want)
		}
		if !slices.Equal(space, want) {
			t.Errorf("%s: keyspace %q, want %q", o.name, space, want)
		}
	}
}

func TestConformanceOfRedis(t *testing.T) {
	s := redistest.StartServer(t)
	c := s.Client()
	defer func() { _ = c.Close() }()
	conform(t, c, func() { time.Sleep(20 * time.Millisecond) })
}

func TestConformanceOfEmulator(t *testing.T) {
	for name, lazy := range map[string]bool{"exact": false, "lazy": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m, e := emulate(t, emulator.Options{Lazy: lazy})
				c := m.Client()
				conform(t, c, func() { time.Sleep(50 * time.Millisecond) })
				_ = c.Close()
				e.Close()
				m.Close()
				time.Sleep(2 * time.Second)
			})
		})
	}
}
