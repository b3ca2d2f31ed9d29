package redisevents_test

import (
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2/server"
	"github.com/onsi/gomega"
	"github.com/redis/go-redis/v9"

	"leasehold/internal/redistest"
	"leasehold/redisevents"
	"leasehold/redisevents/emulator"
)

// world is an embedded Redis with a listener behind a link that can fail.
type world struct {
	t        *testing.T // the bubble's own
	mini     *redistest.Mini
	emulator *emulator.Emulator
	link     *redistest.Link // the listener's
	client   *redis.Client   // never fails
	heard    *heard
}

// inBubble runs f in virtual time, in a settled world.
func inBubble(t *testing.T, emulated bool, f func(g gomega.Gomega, w *world)) {
	t.Helper()
	inBubbleWith(t, emulated, emulator.Options{}, f)
}

func inBubbleWith(t *testing.T, emulated bool, o emulator.Options, f func(g gomega.Gomega, w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, mini: redistest.NewMini()}
		if emulated {
			var err error
			w.emulator, err = emulator.Start(w.mini.Miniredis, o)
			must(t, err)
		}
		w.client, w.link = w.mini.Client(), w.mini.Link()
		listening := w.link.Client()
		w.heard = listen(listening)
		defer func() {
			if err := w.heard.close(); err != nil {
				t.Errorf("Run: %v", err)
			}
			_, _ = listening.Close(), w.client.Close()
			if w.emulator != nil {
				w.emulator.Close()
			}
			w.mini.Close()
			time.Sleep(3 * time.Second) // what is left now is a leak, and the bubble says so
		}()
		sleep(time.Second)
		f(gomega.NewWithT(t), w)
	})
}

func sleep(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func distinct(events []redisevents.Event) []redisevents.Event {
	var once []redisevents.Event
	for _, e := range events {
		if !slices.Contains(once, e) {
			once = append(once, e)
		}
	}
	return once
}

func TestEventsOfEachKind(t *testing.T) {
	inBubble(t, true, func(g gomega.Gomega, w *world) {
		ctx := w.t.Context()
		g.Expect(w.heard.gaps()).To(gomega.HaveLen(1))
		g.Expect(w.heard.gaps()[0].Reason).To(gomega.Equal("start"))
		g.Expect(w.heard.listener.Healthy()).To(gomega.BeTrue())
		step := func(want ...any) {
			sleep(50 * time.Millisecond)
			// An expiry is heard by key and by event: between two takes it may count twice.
			g.Expect(distinct(w.heard.all())).To(gomega.ConsistOf(want...))
			w.heard.forget()
		}
		must(w.t, w.client.Set(ctx, "session:a:b", "{}", 0).Err())
		step(redisevents.SessionTouched{ID: "a:b"})
		must(w.t, w.client.Rename(ctx, "session:a:b", "session:c").Err())
		step(redisevents.SessionTouched{ID: "a:b"}, redisevents.SessionTouched{ID: "c"})
		must(w.t, w.client.Expire(ctx, "session:c", time.Minute).Err())
		step()
		must(w.t, w.client.Set(ctx, "poll:node:n", "1", 30*time.Second).Err())
		step(redisevents.NodeSeen{Instance: "n"})
		must(w.t, w.client.Set(ctx, "poll:lease:s", "n", 10*time.Second).Err())
		must(w.t, w.client.HSet(ctx, "poll:state:{poll:lease:s}s", "version", 1).Err())
		must(w.t, w.client.Set(ctx, "foreign", "x", time.Second).Err())
		step()
		sleep(10 * time.Second)
		step(redisevents.LeaseFreed{Session: "s", Cause: redisevents.Expired})
		must(w.t, w.client.Set(ctx, "poll:lease:s", "n", 10*time.Second).Err())
		must(w.t, w.client.Del(ctx, "poll:lease:s").Err())
		step(redisevents.LeaseFreed{Session: "s", Cause: redisevents.Deleted})
		sleep(20 * time.Second)
		step(redisevents.NodeGone{Instance: "n", Cause: redisevents.Expired})
		g.Expect(w.heard.gaps()).To(gomega.BeEmpty())
	})
}

// Ten virtual minutes of a sound connection bring nothing but silence.
func TestSoundConnectionIsLeftAlone(t *testing.T) {
	inBubble(t, true, func(g gomega.Gomega, w *world) {
		before := w.mini.TotalConnectionCount()
		sleep(10 * time.Minute)
		g.Expect(w.heard.gaps()).To(gomega.HaveLen(1))
		g.Expect(w.heard.noted("lost")).To(gomega.BeEmpty())
		// One fresh connection for each check.
		g.Expect(w.mini.TotalConnectionCount() - before).To(gomega.BeNumerically("~", 60, 2))
	})
}

// Frozen, the server is no reason to churn; what happened meanwhile arrives.
func TestFrozenLink(t *testing.T) {
	inBubble(t, true, func(g gomega.Gomega, w *world) {
		w.heard.forget()
		w.link.Freeze()
		sleep(time.Minute)
		g.Expect(w.heard.noted("")).To(gomega.BeEmpty())
		must(w.t, w.client.Set(w.t.Context(), "session:s", "{}", 0).Err())
		w.link.Heal()
		sleep(5 * time.Second)
		g.Expect(w.heard.all()).To(gomega.ContainElement(redisevents.SessionTouched{ID: "s"}))
	})
}

// The library connects anew at an error, and over a link that answers nothing that
// takes its time: nobody waits for it.
func TestBrokenConnectionIsNoticedAtOnce(t *testing.T) {
	inBubble(t, true, func(g gomega.Gomega, w *world) {
		w.link.Deafen()
		w.link.Drop()
		sleep(time.Millisecond)
		g.Expect(w.heard.noted("lost")).To(gomega.HaveLen(1))
	})
}

// An outage is one loss and one gap.
func TestCutLink(t *testing.T) {
	inBubble(t, true, func(g gomega.Gomega, w *world) {
		w.heard.forget()
		w.link.Cut()
		sleep(time.Minute)
		g.Expect(w.heard.noted("lost")).To(gomega.HaveLen(1))
		g.Expect(w.heard.gaps()).To(gomega.BeEmpty(), "a gap ends the stretch, it does not begin it")
		g.Expect(w.heard.listener.Healthy()).To(gomega.BeFalse())
		must(w.t, w.client.Set(w.t.Context(), "session:missed", "{}", 0).Err())
		w.link.Heal()
		sleep(2 * time.Second)
		g.Expect(w.heard.gaps()).To(gomega.HaveLen(1))
		g.Expect(w.heard.gaps()[0].Restarted).To(gomega.BeFalse())
		g.Expect(w.heard.gaps()[0].Reason).To(gomega.Equal("connection_lost"))
		g.Expect(w.heard.listener.Healthy()).To(gomega.BeTrue())
		must(w.t, w.client.Set(w.t.Context(), "session:heard", "{}", 0).Err())
		sleep(50 * time.Millisecond)
		g.Expect(w.heard.all()).To(gomega.ContainElement(redisevents.SessionTouched{ID: "heard"}))
	})
}

func TestEmulatedRestart(t *testing.T) {
	inBubble(t, true, func(g gomega.Gomega, w *world) {
		w.heard.forget()
		w.emulator.Restart()
		w.link.Drop()
		sleep(3 * time.Second)
		g.Expect(w.heard.gaps()).To(gomega.HaveLen(1))
		g.Expect(w.heard.gaps()[0].Restarted).To(gomega.BeTrue())
		g.Expect(w.heard.gaps()[0].Server).NotTo(gomega.BeEmpty())
		must(w.t, w.client.Set(w.t.Context(), "session:s", "{}", 0).Err())
		sleep(50 * time.Millisecond)
		g.Expect(w.heard.all()).To(gomega.ConsistOf(redisevents.SessionTouched{ID: "s"}), "the flags are back")
	})
}

// Without the emulator miniredis knows neither CONFIG nor INFO server.
func TestServerThatTellsNothing(t *testing.T) {
	inBubble(t, false, func(g gomega.Gomega, w *world) {
		sleep(10 * time.Minute)
		g.Expect(w.heard.noted("disabled")).To(gomega.HaveLen(1))
		g.Expect(w.heard.noted("disabled")[0]).To(gomega.ContainSubstring("unknown command"))
		g.Expect(w.heard.listener.Healthy()).To(gomega.BeFalse())
		g.Expect(w.heard.gaps()).To(gomega.HaveLen(1))
		// A hint is a hint, wherever it comes from.
		w.mini.Publish("__keyevent@0__:expired", "poll:lease:s")
		sleep(10 * time.Millisecond)
		g.Expect(w.heard.all()).To(gomega.ConsistOf(
			redisevents.LeaseFreed{Session: "s", Cause: redisevents.Expired}))
	})
}

// Some proxies close the connection on CONFIG. That is a refusal, not an outage.
func TestConfigClosesConnection(t *testing.T) {
	o := emulator.Options{Flags: "KEA", Next: func(c *server.Peer, cmd string, _ ...string) bool {
		if cmd != "CONFIG" {
			return false
		}
		c.Close()
		return true
	}}
	inBubbleWith(t, true, o, func(g gomega.Gomega, w *world) {
		sleep(time.Minute)
		g.Expect(w.heard.gaps()).To(gomega.HaveLen(1))
		g.Expect(w.heard.noted("disabled")).To(gomega.HaveLen(1))
		must(w.t, w.client.Set(w.t.Context(), "session:s", "{}", 0).Err())
		sleep(50 * time.Millisecond)
		g.Expect(w.heard.all()).To(gomega.ConsistOf(redisevents.SessionTouched{ID: "s"}))
	})
}

// Redis answers and refuses to publish: nothing proves the subscription, and it is
// still used.
func TestPublishRefused(t *testing.T) {
	o := emulator.Options{Next: func(c *server.Peer, cmd string, _ ...string) bool {
		if cmd != "PUBLISH" {
			return false
		}
		c.WriteError("NOPERM this user has no permissions to run the 'publish' command")
		return true
	}}
	inBubbleWith(t, true, o, func(g gomega.Gomega, w *world) {
		sleep(time.Minute)
		g.Expect(w.heard.gaps()).To(gomega.HaveLen(1))
		g.Expect(w.heard.noted("warned")).To(gomega.HaveLen(1))
		must(w.t, w.client.Set(w.t.Context(), "session:s", "{}", 0).Err())
		sleep(50 * time.Millisecond)
		g.Expect(w.heard.all()).To(gomega.ConsistOf(redisevents.SessionTouched{ID: "s"}))
	})
}

// A refusal may pass: then a subscription that died meanwhile is found.
func TestPublishRefusedForAWhile(t *testing.T) {
	var refuse atomic.Bool
	refuse.Store(true)
	o := emulator.Options{Next: func(c *server.Peer, cmd string, _ ...string) bool {
		if cmd != "PUBLISH" || !refuse.Load() {
			return false
		}
		c.WriteError("NOPERM this user has no permissions to run the 'publish' command")
		return true
	}}
	inBubbleWith(t, true, o, func(g gomega.Gomega, w *world) {
		sleep(10 * time.Second)
		g.Expect(w.link.DeafSubscription()).To(gomega.Equal(1))
		sleep(5 * time.Minute)
		g.Expect(w.heard.noted("warned")).To(gomega.HaveLen(1), "it is said once")
		g.Expect(w.heard.gaps()).To(gomega.HaveLen(1))
		refuse.Store(false)
		sleep(40 * time.Second)
		g.Expect(w.heard.gaps()).To(gomega.HaveLen(2))
		must(w.t, w.client.Set(w.t.Context(), "session:s", "{}", 0).Err())
		sleep(50 * time.Millisecond)
		g.Expect(w.heard.all()).To(gomega.ContainElement(redisevents.SessionTouched{ID: "s"}))
	})
}

// Many listeners cost a server no more than few: one publishes and asks, the others hear
// of it. One that hears nothing any more is found although the others are heard.
func TestListenersTakeTurns(t *testing.T) {
	var publishes, asks atomic.Int64
	o := emulator.Options{Flags: "KEA", Next: func(_ *server.Peer, cmd string, _ ...string) bool {
		switch cmd {
		case "PUBLISH":
			publishes.Add(1)
		case "INFO":
			asks.Add(1)
		}
		return false
	}}
	inBubbleWith(t, true, o, func(g gomega.Gomega, w *world) {
		const many, minute = 30, 60
		count := func() (published, asked float64) {
			before, beforeAsks := publishes.Load(), asks.Load()
			sleep(minute * time.Second)
			return float64(publishes.Load()-before) / minute, float64(asks.Load()-beforeAsks) / minute
		}
		published, asked := count()
		g.Expect(published).To(gomega.BeNumerically("~", 2.3, 0.4))
		g.Expect(asked).To(gomega.BeNumerically("~", 2*(1.14+0.1), 0.4), "a look each, and one with the flags")
		var others []func()
		for i := range many - 1 {
			client := w.mini.Link().Client()
			h := listen(client, func(c *redisevents.Config) { c.Name = strconv.Itoa(i) })
			others = append(others, func() { g.Expect(h.close()).To(gomega.Succeed()); _ = client.Close() })
		}
		defer func() {
			for _, end := range others {
				end()
			}
		}()
		sleep(time.Second)
		published, asked = count()
		g.Expect(published).To(gomega.BeNumerically("<", 2.3+2+many/15.0), "one more of each in fifteen seconds")
		g.Expect(asked).To(gomega.BeNumerically("<", 2*(1.14+1+many/10.0)))
		g.Expect(w.heard.gaps()).To(gomega.HaveLen(1))

		w.heard.forget()
		g.Expect(w.link.DeafSubscription()).To(gomega.Equal(1))
		sleep(2*time.Second + time.Millisecond)
		g.Expect(w.heard.noted("lost canary_unheard")).To(gomega.HaveLen(1))
		sleep(time.Second)
		g.Expect(w.heard.gaps()).To(gomega.HaveLen(1))
	})
}
