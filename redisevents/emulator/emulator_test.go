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

// world is a server with all flags and an ear on it.
type world struct {
	*testing.T // the bubble's own

	m   *redistest.Mini
	e   *emulator.Emulator
	c   *redis.Client
	ear *ear
}

// emulate starts a server, which carries scripts out where the clock is lazy.
func emulate(t *testing.T, o emulator.Options) (*redistest.Mini, *emulator.Emulator) {
	t.Helper()
	m := redistest.NewMini()
	if o.Lazy {
		o.Last, o.Publish = m.Hook, m.Publish
	}
	e, err := emulator.Start(m.Miniredis, o)
	ok(t, err)
	return m, e
}

// inBubble gives a test a server with all flags and an ear on it, in virtual time.
func inBubble(t *testing.T, o emulator.Options, f func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		m, e := emulate(t, o)
		c := m.Client()
		ear := listen(t, c)
		defer func() {
			_, _ = ear.ps.Close(), c.Close()
			e.Close()
			e.Close() // may be called again
			m.Close()
			time.Sleep(2 * time.Second) // what is left now is a leak, and the bubble says so
		}()
		f(&world{T: t, m: m, e: e, c: c, ear: ear})
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
	inBubble(t, emulator.Options{Flags: "KEA"}, func(w *world) {
		for i := range 50 {
			ok(w.T, w.c.Set(w.Context(), fmt.Sprintf("k%02d", i), "v", time.Duration(10_000+i*37)*time.Millisecond).Err())
		}
		time.Sleep(5 * time.Second)
		w.ear.take()
		for i := range 50 {
			deadline := 10*time.Second + time.Duration(i*37)*time.Millisecond
			time.Sleep(deadline - 5*time.Second - elapsed(i) - time.Millisecond)
			check(w.T, w.ear)
			time.Sleep(21 * time.Millisecond)
			check(w.T, w.ear, fmt.Sprintf("expired k%02d", i))
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
	inBubble(t, emulator.Options{Flags: "Ex"}, func(w *world) {
		ok(w.T, w.c.Set(w.Context(), "k", "v", 30*time.Second).Err())
		for range 10 {
			time.Sleep(10 * time.Second)
			ok(w.T, w.c.PExpire(w.Context(), "k", 30*time.Second).Err())
		}
		time.Sleep(29 * time.Second)
		check(w.T, w.ear)
		time.Sleep(time.Second + 20*time.Millisecond)
		check(w.T, w.ear, "expired k")
	})
}

func TestFlags(t *testing.T) {
	for flags, want := range map[string]string{
		"": "/", "KA": "/set expire del", "EA": "set expire del/", "Eg": "expire del/", "E$": "set/",
		"Ex": "/", "KEg$": "set expire del/set expire del", "A": "/",
	} {
		t.Run(flags, func(t *testing.T) {
			inBubble(t, emulator.Options{}, func(w *world) {
				ok(w.T, w.c.ConfigSet(w.Context(), "notify-keyspace-events", flags).Err())
				ok(w.T, w.c.Set(w.Context(), "k", "v", time.Hour).Err())
				ok(w.T, w.c.Del(w.Context(), "k").Err())
				time.Sleep(50 * time.Millisecond)
				synctest.Wait()
				events, space := w.ear.take()
				got := strings.ReplaceAll(strings.Join(events, " ")+"/"+strings.Join(space, " "), " k", "")
				if got != want {
					w.Errorf("heard %q, want %q", got, want)
				}
			})
		})
	}
}

func TestDirectCalls(t *testing.T) {
	inBubble(t, emulator.Options{Flags: "EA"}, func(w *world) {
		ok(w.T, w.m.Set("k", "v"))
		w.e.Sync()
		check(w.T, w.ear, "set k")
		w.m.Del("k")
		time.Sleep(300 * time.Millisecond)
		check(w.T, w.ear, "del k")
	})
}

func TestSetErrorDoesNotSilence(t *testing.T) {
	inBubble(t, emulator.Options{Flags: "EA"}, func(w *world) {
		w.m.SetError("LOADING away")
		if err := w.c.Set(w.Context(), "k", "v", 0).Err(); err == nil {
			w.Fatal("SetError had no effect")
		}
		w.m.SetError("")
		ok(w.T, w.c.Set(w.Context(), "k", "v", 0).Err())
		time.Sleep(300 * time.Millisecond)
		check(w.T, w.ear, "set k")
		// The hook is back: an unchanged value is announced, which no comparison finds.
		ok(w.T, w.c.Set(w.Context(), "k", "v", 0).Err())
		time.Sleep(20 * time.Millisecond)
		check(w.T, w.ear, "set k")
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
	inBubble(t, emulator.Options{Flags: "EA", Next: next}, func(w *world) {
		_ = w.c.Set(w.Context(), "k", "v", 0).Err()
		ok(w.T, w.c.HSet(w.Context(), "h", "f", "v").Err())
		time.Sleep(500 * time.Millisecond)
		check(w.T, w.ear, "hset h")
	})
}

func TestRestart(t *testing.T) {
	inBubble(t, emulator.Options{Flags: "KEA"}, func(w *world) {
		ok(w.T, w.c.Set(w.Context(), "k", "v", 0).Err())
		time.Sleep(time.Minute)
		w.ear.take()
		before := w.c.Info(w.Context(), "server").Val()
		if !strings.Contains(before, "uptime_in_seconds:60\r\n") {
			w.Errorf("no uptime of a minute in %q", before)
		}
		w.e.Restart()
		time.Sleep(time.Second)
		check(w.T, w.ear)
		if w.m.Exists("k") {
			w.Error("a key survived")
		}
		after := w.c.Info(w.Context(), "server").Val()
		if runID(before) == runID(after) || !strings.Contains(after, "uptime_in_seconds:1\r\n") {
			w.Errorf("same life: %q, then %q", before, after)
		}
		if flags := w.c.ConfigGet(w.Context(), "notify-keyspace-events").Val()["notify-keyspace-events"]; flags != "" {
			w.Errorf("flags %q survived", flags)
		}
	})
}

func runID(info string) string {
	_, rest, _ := strings.Cut(info, "run_id:")
	id, _, _ := strings.Cut(rest, "\r\n")
	return id
}

func TestDatabasesAreApart(t *testing.T) {
	inBubble(t, emulator.Options{Flags: "EA"}, func(w *world) {
		other := w.m.Client(func(o *redis.Options) { o.DB = 3 })
		ok(w.T, w.c.Set(w.Context(), "k", "v", 0).Err())
		ok(w.T, other.Del(w.Context(), "k").Err())
		ok(w.T, other.Set(w.Context(), "l", "v", 0).Err())
		ok(w.T, other.Eval(w.Context(), "return redis.call('SET','m',1)", []string{"m"}).Err())
		ok(w.T, other.FlushDB(w.Context()).Err())
		time.Sleep(500 * time.Millisecond)
		check(w.T, w.ear, "set k")
		ok(w.T, other.Close())
	})
}

// On the real clock and over TCP, as in the demo.
func TestRealTime(t *testing.T) {
	for name, tick := range map[string]time.Duration{"exact": 0, "in steps": 20 * time.Millisecond} {
		t.Run(name, func(t *testing.T) { testRealTime(t, tick) })
	}
}

func testRealTime(t *testing.T, tick time.Duration) {
	t.Helper()
	m := miniredis.NewMiniRedis()
	ok(t, m.Start())
	defer m.Close()
	e, err := emulator.Start(m, emulator.Options{Flags: "KEA", Tick: tick})
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

// With a clock that goes in steps, a key lives as long as it should but for a step,
// and a command in the step of its end starts no false event.
func TestAClockInSteps(t *testing.T) {
	const tick, ttl = 40 * time.Millisecond, 1010 * time.Millisecond // which is no number of ticks
	inBubble(t, emulator.Options{Flags: "EA", Tick: tick}, func(w *world) {
		ok(w.T, w.c.Set(w.Context(), "k", "v", ttl).Err())
		begun := time.Now()
		want := []string{"set k", "expire k"}
		for length := int64(2); ; length++ {
			got := w.c.Append(w.Context(), "k", "x").Val()
			if got == 1 { // it had run out, and this is a new one
				want = append(want, "expired k", "append k")
				break
			}
			want = append(want, "append k")
			if got != length || time.Since(begun) > ttl+tick {
				w.Fatalf("length %d after %s, want %d", got, time.Since(begun), length)
			}
			time.Sleep(3 * time.Millisecond)
		}
		if lived := time.Since(begun); lived < ttl-tick {
			w.Errorf("the key ran out after %s", lived)
		}
		time.Sleep(time.Second)
		check(w.T, w.ear, want...)
	})
}
