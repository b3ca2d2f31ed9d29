package emulator_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"leasehold/redisevents/emulator"
)

// lazily gives a test a server whose clock stands until a key runs out.
func lazily(t *testing.T, f func(w *world)) {
	t.Helper()
	inBubble(t, emulator.Options{Flags: "EA", Lazy: true}, f)
}

// Whatever sets a TTL, the key is there until the last moment and gone at the next.
func TestALazyClockIsExact(t *testing.T) {
	const ttl = 10 * time.Second
	for name, set := range map[string]func(w *world) error{
		"set px":  func(w *world) error { return w.c.Set(w.Context(), "k", "v", ttl).Err() },
		"set ex":  func(w *world) error { return w.c.Do(w.Context(), "SET", "k", "v", "EX", 10).Err() },
		"psetex":  func(w *world) error { return w.c.Do(w.Context(), "PSETEX", "k", 10_000, "v").Err() },
		"pexpire": func(w *world) error { return w.c.PExpire(w.Context(), "k", ttl).Err() },
		"expire":  func(w *world) error { return w.c.Expire(w.Context(), "k", ttl).Err() },
		"script": func(w *world) error {
			return w.c.Eval(w.Context(), "return redis.call('SET', KEYS[1], 'v', 'NX', 'PX', ARGV[1])", []string{"new"}, 10_000).Err()
		},
	} {
		t.Run(name, func(t *testing.T) {
			lazily(t, func(w *world) {
				key := "k"
				if name == "script" {
					key = "new"
				}
				ok(w.T, w.c.Set(w.Context(), "k", "v", time.Hour).Err())
				ok(w.T, w.c.Set(w.Context(), "other", "v", 7*time.Second).Err()) // runs out between
				time.Sleep(3 * time.Second)
				ok(w.T, set(w))
				w.ear.take()
				for left := ttl; left > 0; left -= 500 * time.Millisecond {
					if got := w.c.PTTL(w.Context(), key).Val(); (got - left).Abs() > time.Millisecond {
						w.Errorf("PTTL %s, want %s", got, left)
					}
					time.Sleep(500 * time.Millisecond)
				}
				time.Sleep(time.Millisecond)
				if n := w.c.Exists(w.Context(), key).Val(); n != 0 {
					w.Error("the key outlives its TTL")
				}
				time.Sleep(20 * time.Millisecond)
				events, _ := w.ear.take()
				if got := strings.Join(events, ", "); !strings.HasSuffix(got, "expired other, expired "+key) {
					w.Errorf("heard %s", got)
				}
			})
		})
	}
}

func TestALazyClockTellsTheTime(t *testing.T) {
	lazily(t, func(w *world) {
		time.Sleep(1234 * time.Millisecond)
		if got := w.c.Time(w.Context()).Val(); !got.Equal(time.Now()) {
			w.Errorf("TIME %s, want %s", got, time.Now())
		}
		if got := w.c.Time(w.Context()).Val(); !got.Equal(time.Now().Add(time.Microsecond)) {
			w.Errorf("TIME %s at the same moment, want a microsecond more than %s", got, time.Now())
		}
		got := w.c.Eval(w.Context(), "return redis.call('TIME')[1]", nil).Val()
		if want := strconv.FormatInt(time.Now().Unix(), 10); got != want {
			w.Errorf("TIME of a script %v, want %s", got, want)
		}
		id := w.c.XAdd(w.Context(), &redis.XAddArgs{Stream: "s", Values: []any{"k", "v"}}).Val()
		if want := fmt.Sprintf("%d-0", time.Now().UnixMilli()); id != want {
			w.Errorf("XADD %s, want %s", id, want)
		}
		if got := w.c.PTTL(w.Context(), "s").Val(); got != -1 {
			w.Errorf("PTTL of a key without one: %d", got)
		}
		if got := w.c.PTTL(w.Context(), "none").Val(); got != -2 {
			w.Errorf("PTTL of no key: %d", got)
		}
	})
}
