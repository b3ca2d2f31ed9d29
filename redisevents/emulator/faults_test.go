package emulator_test

import (
	"strings"
	"testing"
	"time"

	"leasehold/redisevents/emulator"
)

// What is announced gets lost, comes twice, or late, and then is as it was.
func TestDisturbedAnnouncements(t *testing.T) {
	inBubble(t, emulator.Options{Flags: "Eg$"}, func(w *world) {
		w.e.Disturb(func(channel, message string) []time.Duration {
			switch {
			case !strings.HasSuffix(channel, "set"):
				return nil
			case message == "twice":
				return []time.Duration{0, 0}
			default:
				return []time.Duration{0, time.Minute}
			}
		})
		ok(w.T, w.c.Set(w.Context(), "twice", "v", 0).Err())
		ok(w.T, w.c.Set(w.Context(), "late", "v", 0).Err())
		ok(w.T, w.c.Del(w.Context(), "late").Err())
		time.Sleep(time.Second)
		check(w.T, w.ear, "set twice", "set twice", "set late")
		time.Sleep(time.Minute)
		check(w.T, w.ear, "set late")
		w.e.Disturb(nil)
		ok(w.T, w.c.Del(w.Context(), "twice").Err())
		time.Sleep(time.Second)
		check(w.T, w.ear, "del twice")
	})
}

// What has not happened is announced where the flags cover it.
func TestForgedAnnouncements(t *testing.T) {
	inBubble(t, emulator.Options{Flags: "Ex"}, func(w *world) {
		ok(w.T, w.c.Set(w.Context(), "k", "v", 0).Err())
		w.e.Forge(0, "k", "expired")
		w.e.Forge(0, "k", "del")
		check(w.T, w.ear, "expired k")
	})
}

// Another server in place of this one announces nothing of its data, has no flags,
// and another name.
func TestReplacedServer(t *testing.T) {
	inBubble(t, emulator.Options{Flags: "KEA"}, func(w *world) {
		ok(w.T, w.c.Set(w.Context(), "k", "v", 0).Err())
		time.Sleep(time.Second)
		w.ear.take()
		before := w.c.Info(w.Context(), "server").Val() + w.c.Info(w.Context(), "replication").Val()
		w.e.Replace(time.Hour, func() {
			w.m.Del("k")
			ok(w.T, w.m.Set("other", "v"))
		})
		time.Sleep(time.Second)
		check(w.T, w.ear)
		after := w.c.Info(w.Context(), "server").Val() + w.c.Info(w.Context(), "replication").Val()
		for _, name := range []string{"run_id:", "master_replid:"} {
			if line(before, name) == line(after, name) {
				w.Errorf("%s is the same", name)
			}
		}
		if got := line(after, "uptime_in_seconds:"); got != "3601" {
			w.Errorf("up for %s s", got)
		}
		ok(w.T, w.c.Set(w.Context(), "k", "v", 0).Err())
		time.Sleep(time.Second)
		check(w.T, w.ear)
	})
}

// line returns the value of a line of INFO.
func line(info, name string) string {
	_, rest, _ := strings.Cut(info, name)
	value, _, _ := strings.Cut(rest, "\r\n")
	return value
}
