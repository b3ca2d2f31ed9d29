package emulator_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"

	"leasehold/internal/redistest"
	"leasehold/redisevents/emulator"
)

// inBubble gives a test a server with all flags and an ear on it, in virtual time.
func inBubble(t *testing.T, o emulator.Options, f func(t *testing.T, m *redistest.Mini, e *emulator.Emulator, c *redis.Client, ear *ear)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		m := redistest.NewMini()
		e, err := emulator.Start(m.Miniredis, o)
		if err != nil {
			t.Fatal(err)
		}
		c := m.Client()
		ear := listen(t, c)
		defer func() {
			_, _ = ear.ps.Close(), c.Close()
			e.Close()
			e.Close() // may be called again
			m.Close()
			time.Sleep(2 * time.Second) // what is left now is a leak, and the bubble says so
		}()
		f(t, m, e, c, ear)
	})
}

func check(t *testing.T, ear *ear, want ...string) {
	t.Helper()
	synctest.Wait()
	if events, _ := ear.take(); !slices.Equal(events, want) {
		t.Errorf("heard %q, want %q", events, want)
	}
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestExpiryIsAnnouncedInTime(t *testing.T) {
	inBubble(t, emulator.Options{Flags: "KEA"}, func(t *testing.T, _ *redistest.Mini, _ *emulator.Emulator, c *redis.Client, ear *ear) {
		for i := range 50 {
			ok(t, c.Set(t.Context(), fmt.Sprintf("k%02d", i), "v", time.Duration(10_000+i*37)*time.Millisecond).Err())
		}
		time.Sleep(5 * time.Second)
		ear.take()
		for i := range 50 {
			deadline := 10*time.Second + time.Duration(i*37)*time.Millisecond
			time.Sleep(deadline - 5*time.Second - elapsed(i) - time.Millisecond)
			check(t, ear)
			time.Sleep(21 * time.Millisecond)
			check(t, ear, fmt.Sprintf("expired k%02d", i))
		}
	})
}

// elapsed is what TestExpiryIsAnnouncedInTime slept before round i, since 5 s.
func elapsed(i int) time.Duration {
	if i == 0 {
		return 0
	}
	return 5*time.Second + time.Duration((i-1)*37+20)*time.Millisecond
}

func TestRenewedKeyLives(t *testing.T) {
	inBubble(t, emulator.Options{Flags: "Ex"}, func(t *testing.T, _ *redistest.Mini, _ *emulator.Emulator, c *redis.Client, ear *ear) {
		ok(t, c.Set(t.Context(), "k", "v", 30*time.Second).Err())
		for range 10 {
			time.Sleep(10 * time.Second)
			ok(t, c.PExpire(t.Context(), "k", 30*time.Second).Err())
		}
		time.Sleep(29 * time.Second)
		check(t, ear)
		time.Sleep(time.Second + 20*time.Millisecond)
		check(t, ear, "expired k")
	})
}

func TestFlags(t *testing.T) {
	for flags, want := range map[string]string{
		"": "/", "KA": "/set expire del", "EA": "set expire del/", "Eg": "expire del/", "E$": "set/",
		"Ex": "/", "KEg$": "set expire del/set expire del", "A": "/",
	} {
		t.Run(flags, func(t *testing.T) {
			inBubble(t, emulator.Options{}, func(t *testing.T, _ *redistest.Mini, _ *emulator.Emulator, c *redis.Client, ear *ear) {
				ok(t, c.ConfigSet(t.Context(), "notify-keyspace-events", flags).Err())
				ok(t, c.Set(t.Context(), "k", "v", time.Hour).Err())
				ok(t, c.Del(t.Context(), "k").Err())
				time.Sleep(50 * time.Millisecond)
				synctest.Wait()
				events, space := ear.take()
				got := strings.ReplaceAll(strings.Join(events, " ")+"/"+strings.Join(space, " "), " k", "")
				if got != want {
					t.Errorf("heard %q, want %q", got, want)
				}
			})
		})
	}
}

func TestDirectCalls(t *testing.T) {
	inBubble(t, emulator.Options{Flags: "EA"}, func(t *testing.T, m *redistest.Mini, e *emulator.Emulator, _ *redis.Client, ear *ear) {
		ok(t, m.Set("k", "v"))
		e.Sync()
		check(t, ear, "set k")
		m.Del("k")
		time.Sleep(300 * time.Millisecond)
		check(t, ear, "del k")
	})
}

func TestSetErrorDoesNotSilence(t *testing.T) {
	inBubble(t, emulator.Options{Flags: "EA"}, func(t *testing.T, m *redistest.Mini, _ *emulator.Emulator, c *redis.Client, ear *ear) {
		m.SetError("LOADING away")
		if err := c.Set(t.Context(), "k", "v", 0).Err(); err == nil {
			t.Fatal("SetError had no effect")
		}
		m.SetError("")
		ok(t, c.Set(t.Context(), "k", "v", 0).Err())
		time.Sleep(300 * time.Millisecond)
		check(t, ear, "set k")
		// The hook is back: an unchanged value is announced, which no comparison finds.
		ok(t, c.Set(t.Context(), "k", "v", 0).Err())
		time.Sleep(20 * time.Millisecond)
		check(t, ear, "set k")
	})
}

func TestNextComesFirst(t *testing.T) {
	next := func(c *server.Peer, cmd string, _ ...string) bool {
		if cmd == "SET" {
			c.WriteError("ERR no")
			return true
		}
		return false
	}
	inBubble(t, emulator.Options{Flags: "EA", Next: next}, func(t *testing.T, _ *redistest.Mini, _ *emulator.Emulator, c *redis.Client, ear *ear) {
		_ = c.Set(t.Context(), "k", "v", 0).Err()
		ok(t, c.HSet(t.Context(), "h", "f", "v").Err())
		time.Sleep(500 * time.Millisecond)
		check(t, ear, "hset h")
	})
}

func TestRestart(t *testing.T) {
	inBubble(t, emulator.Options{Flags: "KEA"}, func(t *testing.T, m *redistest.Mini, e *emulator.Emulator, c *redis.Client, ear *ear) {
		ok(t, c.Set(t.Context(), "k", "v", 0).Err())
		time.Sleep(time.Minute)
		ear.take()
		before := c.Info(t.Context(), "server").Val()
		if !strings.Contains(before, "uptime_in_seconds:60\r\n") {
			t.Errorf("no uptime of a minute in %q", before)
		}
		e.Restart()
		time.Sleep(time.Second)
		check(t, ear)
		if m.Exists("k") {
			t.Error("a key survived")
		}
		after := c.Info(t.Context(), "server").Val()
		if runID(before) == runID(after) || !strings.Contains(after, "uptime_in_seconds:1\r\n") {
			t.Errorf("same life: %q, then %q", before, after)
		}
		if flags := c.ConfigGet(t.Context(), "notify-keyspace-events").Val()["notify-keyspace-events"]; flags != "" {
			t.Errorf("flags %q survived", flags)
		}
	})
}

func runID(info string) string {
	_, rest, _ := strings.Cut(info, "run_id:")
	id, _, _ := strings.Cut(rest, "\r\n")
	return id
}

func TestDatabasesAreApart(t *testing.T) {
	inBubble(t, emulator.Options{Flags: "EA"}, func(t *testing.T, m *redistest.Mini, _ *emulator.Emulator, c *redis.Client, ear *ear) {
		other := m.Client(func(o *redis.Options) { o.DB = 3 })
		ok(t, c.Set(t.Context(), "k", "v", 0).Err())
		ok(t, other.Del(t.Context(), "k").Err())
		ok(t, other.Set(t.Context(), "l", "v", 0).Err())
		ok(t, other.Eval(t.Context(), "return redis.call('SET','m',1)", []string{"m"}).Err())
		ok(t, other.FlushDB(t.Context()).Err())
		time.Sleep(500 * time.Millisecond)
		check(t, ear, "set k")
		ok(t, other.Close())
	})
}

// On the real clock and over TCP, as in the demo.
func TestRealTime(t *testing.T) {
	m := miniredis.NewMiniRedis()
	ok(t, m.Start())
	defer m.Close()
	e, err := emulator.Start(m, emulator.Options{Flags: "KEA"})
	ok(t, err)
	defer e.Close()
	c := redis.NewClient(redistest.Options(m.Addr()))
	defer func() { _ = c.Close() }()
	ear := listen(t, c)
	defer func() { _ = ear.ps.Close() }()
	const keys = 200
	for i := range keys {
		ok(t, c.Set(t.Context(), fmt.Sprintf("k%03d", i), "v", 300*time.Millisecond).Err())
	}
	deadline := time.Now().Add(10 * time.Second)
	counts := map[string]int{}
	for counts["expired"] < keys && time.Now().Before(deadline) {
		time.Sleep(5 * time.Millisecond)
		events, _ := ear.take()
		for _, event := range events {
			name, _, _ := strings.Cut(event, " ")
			counts[name]++
		}
	}
	for _, name := range []string{"set", "expire", "expired"} {
		if counts[name] != keys {
			t.Errorf("%s: %d times, want %d", name, counts[name], keys)
		}
	}
	if len(counts) != 3 {
		t.Errorf("heard %v", counts)
	}
}
