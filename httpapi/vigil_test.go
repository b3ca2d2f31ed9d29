package httpapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2/server"

	"leasehold/eventlog"
	"leasehold/httpapi"
	"leasehold/internal/redistest"
	"leasehold/redisevents"
	"leasehold/rediskey"
	"leasehold/redisstore"
)

const (
	longPoll = free + "&wait=30s"
	recheck  = 10 * time.Second
)

// hints is a feed that a test feeds.
type hints struct {
	ready chan struct{}
	mu    sync.Mutex
	held  []redisevents.Event
	open  int
}

func newHints() *hints { return &hints{ready: make(chan struct{}, 1)} }

func (h *hints) follow(int) httpapi.Feed {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.open++
	return h
}

func (h *hints) Close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.open--
}

func (h *hints) Ready() <-chan struct{} { return h.ready }

func (h *hints) Take() []redisevents.Event {
	h.mu.Lock()
	defer h.mu.Unlock()
	taken := h.held
	h.held = nil
	return taken
}

func (h *hints) give(events ...redisevents.Event) {
	h.mu.Lock()
	h.held = append(h.held, events...)
	h.mu.Unlock()
	select {
	case h.ready <- struct{}{}:
	default:
	}
}

// onVigil runs f in a bubble, with hints and a channel that stops the server.
func onVigil(t *testing.T, f func(b *bench, h *hints, stop chan struct{})) {
	t.Helper()
	h, stop := newHints(), make(chan struct{})
	onBench(t, func(b *bench) {
		h.ready, stop = make(chan struct{}, 1), make(chan struct{})
		b.api.Stop = stop
		b.serve = httpapi.New(httpapi.Config{Leases: &b.api})
		f(b, h, stop)
		synctest.Wait()
		if h.open != 0 {
			t.Errorf("%d feeds are open, but nobody waits", h.open)
		}
	}, func(l *httpapi.Leases) { l.Follow, l.Recheck = h.follow, recheck })
}

// offer is what one long poll brought, and when.
type offer struct {
	reply

	after time.Duration
	ids   []string
}

// longPolls sends so many at once; the channel delivers their answers.
func (b *bench) longPolls(n int, path string) <-chan offer {
	b.t.Helper()
	offers := make(chan offer, n)
	for range n {
		go func() {
			at := time.Now()
			o := offer{reply: b.send("GET", path, "")}
			o.after = time.Since(at)
			var list []freeSession
			_ = json.Unmarshal([]byte(o.text), &list)
			for _, s := range list {
				o.ids = append(o.ids, s.SessionID)
			}
			offers <- o
		}()
	}
	synctest.Wait()
	return offers
}

func leaseOf(id string) string { return "/api/v1/sessions/" + id + "/lease" }

func TestALongPollIsAnsweredAtOnceWhenSomethingIsFree(t *testing.T) {
	onVigil(t, func(b *bench, _ *hints, _ chan struct{}) {
		b.put("a", external)
		b.put("b", external)
		b.put("held", external)
		b.want(http.StatusCreated, "POST", leaseOf("held"), asW1)
		o := <-b.longPolls(1, longPoll)
		slices.Sort(o.ids)
		if o.code != http.StatusOK || o.after != 0 || fmt.Sprint(o.ids) != "[a b]" {
			t.Errorf("%d after %s: %s", o.code, o.after, o.text)
		}
	})
}

// A session that nodes poll is free for a moment as it moves: it is not for who waits for
// others.
func TestALongPollIsForSessionsOfItsKind(t *testing.T) {
	onVigil(t, func(b *bench, h *hints, _ chan struct{}) {
		b.put("web", web)
		b.put("job", external)
		b.want(http.StatusCreated, "POST", leaseOf("job"), asW1)
		offers := b.longPolls(1, longPoll+"&kind=external")
		time.Sleep(time.Second)
		h.give(redisevents.LeaseFreed{Session: "web"})
		time.Sleep(time.Second)
		b.want(http.StatusNoContent, "DELETE", leaseOf("job"), asW1)
		h.give(redisevents.LeaseFreed{Session: "job"})
		if o := <-offers; fmt.Sprint(o.ids) != "[job]" || o.after < 2*time.Second {
			t.Errorf("%d after %s: %s", o.code, o.after, o.text)
		}
		if o := <-b.longPolls(1, longPoll); len(o.ids) != 2 || o.after != 0 {
			t.Errorf("of any kind: %d after %s: %s", o.code, o.after, o.text)
		}
	})
}

// narrow is a store whose steps are one session each.
type narrow struct{ httpapi.Store }

// Page implements [session.Pager].
func (n narrow) Page(ctx context.Context, cursor string, _ int) (ids []string, next string, err error) {
	all, _, err := n.Store.Page(ctx, "", 1000)
	slices.Sort(all)
	at, _ := strconv.Atoi(cursor)
	if err != nil || at >= len(all) {
		return nil, "", err
	}
	if at+1 < len(all) {
		next = strconv.Itoa(at + 1)
	}
	return all[at : at+1], next, nil
}

// What is free may lie far apart, and be less at first than there are who want it.
func TestOneLookServesAllWhoWaitFromAsManyStepsAsItTakes(t *testing.T) {
	onVigil(t, func(b *bench, _ *hints, _ chan struct{}) {
		b.api.Store = narrow{b.api.Store}
		b.serve = httpapi.New(httpapi.Config{Leases: &b.api})
		for _, id := range []string{"a", "b", "c"} {
			b.put(id, external)
			b.want(http.StatusCreated, "POST", leaseOf(id), asW1)
		}
		offers := b.longPolls(2, longPoll)
		b.mini.Del(rediskey.Default().Lease("a"))
		b.mini.Del(rediskey.Default().Lease("c"))
		one, other := <-offers, <-offers
		if got := slices.Sorted(slices.Values(append(one.ids, other.ids...))); fmt.Sprint(got) != "[a c]" || one.after != other.after {
			t.Errorf("after %s and %s: %v", one.after, other.after, got)
		}
	})
}

func TestALongPollIsWokenByAHint(t *testing.T) {
	for name, hint := range map[string]redisevents.Event{
		"freed": redisevents.LeaseFreed{Session: "s1"}, "touched": redisevents.SessionTouched{ID: "s1"}, "gap": redisevents.Gap{},
	} {
		onVigil(t, func(b *bench, h *hints, _ chan struct{}) {
			b.put("s1", external)
			took := b.want(http.StatusCreated, "POST", s1, asW1)
			offers := b.longPolls(1, longPoll)
			time.Sleep(3 * time.Second)
			h.give(hint) // is not true
			time.Sleep(time.Second)
			b.want(http.StatusNoContent, "DELETE", s1, asW1)
			h.give(hint)
			o := <-offers
			if o.code != http.StatusOK || o.after > 4*time.Second+100*time.Millisecond || fmt.Sprint(o.ids) != "[s1]" {
				t.Errorf("%s: %d after %s: %s", name, o.code, o.after, o.text)
			}
			if want := fmt.Sprintf(`[{"session_id":"s1","version":%d}]`, took.Version); o.text != want {
				t.Errorf("%s: %s, want %s", name, o.text, want)
			}
		})
	}
}

// vast is a store of so many sessions that a look at all of them takes long: ten steps of
// a second each, and then those that there really are.
type vast struct {
	httpapi.Store

	looked atomic.Int64 // steps
}

// Page implements [session.Pager].
func (s *vast) Page(ctx context.Context, cursor string, count int) ([]string, string, error) {
	s.looked.Add(1)
	step, _ := strconv.Atoi(cursor)
	if step == 10 {
		return s.Store.Page(ctx, "", count)
	}
	time.Sleep(time.Second)
	return nil, strconv.Itoa(step + 1), nil
}

func TestAHintDoesNotWaitForALookAtAll(t *testing.T) {
	onVigil(t, func(b *bench, h *hints, _ chan struct{}) {
		b.put("s1", external)
		b.want(http.StatusCreated, "POST", s1, asW1)
		store := &vast{Store: b.api.Store}
		b.api.Store = store
		b.serve = httpapi.New(httpapi.Config{Leases: &b.api})
		offers := b.longPolls(1, longPoll)
		time.Sleep(2500 * time.Millisecond)
		b.want(http.StatusNoContent, "DELETE", s1, asW1)
		h.give(redisevents.LeaseFreed{Session: "s1"})
		if o := <-offers; fmt.Sprint(o.ids) != "[s1]" || o.after > 3*time.Second {
			t.Errorf("%d after %s: %s", o.code, o.after, o.text)
		}
		time.Sleep(time.Minute)
		if n := store.looked.Load(); n != 3 {
			t.Errorf("%d steps were looked at, the last ones for nobody", n)
		}

		// Who comes while a look is under way for another has one of its own.
		b.want(http.StatusCreated, "POST", s1, asW1)
		first := b.longPolls(1, longPoll)
		time.Sleep(time.Second / 2)
		second := b.longPolls(1, longPoll)
		b.want(http.StatusNoContent, "DELETE", s1, asW1)
		h.give(redisevents.LeaseFreed{Session: "s1"})
		if o := <-first; fmt.Sprint(o.ids) != "[s1]" || o.after > time.Second {
			t.Errorf("%d after %s: %s", o.code, o.after, o.text)
		}
		b.put("s2", external) // of which no hint speaks
		if o := <-second; fmt.Sprint(o.ids) != "[s1 s2]" {
			t.Errorf("%d after %s: %s", o.code, o.after, o.text)
		}
	})
}

func TestALongPollFindsWhatNoHintSpokeOf(t *testing.T) {
	onVigil(t, func(b *bench, _ *hints, _ chan struct{}) {
		b.put("s1", external)
		b.want(http.StatusCreated, "POST", s1, asW1)
		offers := b.longPolls(1, longPoll)
		time.Sleep(time.Second)
		b.want(http.StatusNoContent, "DELETE", s1, asW1)
		if o := <-offers; fmt.Sprint(o.ids) != "[s1]" || o.after > recheck+time.Second {
			t.Errorf("%d after %s: %s", o.code, o.after, o.text)
		}
	})
}

func TestALongPollEndsWithItsTimeItsClientAndTheServer(t *testing.T) {
	onVigil(t, func(b *bench, _ *hints, stop chan struct{}) {
		if o := <-b.longPolls(1, longPoll); o.code != http.StatusOK || o.text != "[]" || o.after != 30*time.Second {
			t.Errorf("%d after %s: %s", o.code, o.after, o.text)
		}
		ctx, cancel := context.WithCancel(b.t.Context())
		gone := make(chan struct{})
		go func() {
			r := httptest.NewRequestWithContext(ctx, "GET", longPoll, nil)
			r.Host = "localhost"
			b.serve.ServeHTTP(httptest.NewRecorder(), r)
			close(gone)
		}()
		synctest.Wait()
		cancel()
		at := time.Now()
		<-gone
		if d := time.Since(at); d != 0 {
			t.Errorf("kept for %s when its client had gone", d)
		}
		offers := b.longPolls(3, longPoll)
		time.Sleep(time.Second)
		close(stop)
		for range 3 {
			if o := <-offers; o.code != http.StatusOK || o.text != "[]" || o.after != time.Second {
				t.Errorf("%d after %s: %s", o.code, o.after, o.text)
			}
		}
		if o := <-b.longPolls(1, longPoll); o.code != http.StatusServiceUnavailable || retryAfter(o.reply) < 1 || o.after != 0 {
			t.Errorf("%d after %s: %s", o.code, o.after, o.text)
		}
		b.want(http.StatusOK, "GET", free, "")
	})
}

// A thousand wait, and Redis is asked as if it were one: each lease that gets free is
// offered to one of them.
func TestAThousandLongPollsCostOneLook(t *testing.T) {
	onVigil(t, func(b *bench, h *hints, _ chan struct{}) {
		const all = 1000
		for _, id := range []string{"s1", "s2", "s3"} {
			b.put(id, external)
			b.want(http.StatusCreated, "POST", leaseOf(id), asW1)
		}
		var mu sync.Mutex
		commands := 0
		b.mini.Server().SetPreHook(func(c *server.Peer, cmd string, args ...string) bool {
			mu.Lock()
			if !b.mini.InScript(c) {
				commands++
			}
			mu.Unlock()
			return b.mini.Hook(c, cmd, args...)
		})
		spent := func() int {
			mu.Lock()
			defer mu.Unlock()
			n := commands
			commands = 0
			return n
		}
		offers := b.longPolls(all, longPoll)
		time.Sleep(time.Second)
		if n := spent(); n > 20 {
			t.Errorf("%d commands for the arrival of %d", n, all)
		}
		for _, id := range []string{"s1", "s2", "s3"} {
			b.want(http.StatusNoContent, "DELETE", leaseOf(id), asW1)
		}
		spent()
		h.give(redisevents.LeaseFreed{Session: "s1"}, redisevents.LeaseFreed{Session: "s2"}, redisevents.LeaseFreed{Session: "s3"})
		seen := map[string]bool{}
		for range 3 {
			o := <-offers
			if len(o.ids) != 1 || seen[o.ids[0]] || o.after > time.Second {
				t.Fatalf("after %s: %s, given already: %v", o.after, o.text, seen)
			}
			seen[o.ids[0]] = true
			b.want(http.StatusCreated, "POST", leaseOf(o.ids[0]), asW2)
		}
		if n := spent(); n > 20 {
			t.Errorf("%d commands for three of %d", n, all)
		}
		time.Sleep(30 * time.Second)
		for range all - 3 {
			if o := <-offers; o.text != "[]" || o.code != http.StatusOK {
				t.Fatalf("%d: %s", o.code, o.text)
			}
		}
		if n := spent(); n > 20 {
			t.Errorf("%d commands in 30 s of waiting", n)
		}
	})
}

// Whoever was offered something and does not take it keeps it from nobody for long.
func TestWhatIsNotTakenIsOfferedToOthers(t *testing.T) {
	onVigil(t, func(b *bench, _ *hints, _ chan struct{}) {
		b.put("s1", external)
		offers := b.longPolls(5, longPoll)
		for i := range 5 {
			if o := <-offers; fmt.Sprint(o.ids) != "[s1]" || o.after > time.Duration(i)*recheck {
				t.Errorf("%d: after %s: %s", i, o.after, o.text)
			}
			if i == 2 {
				break
			}
		}
		for range 2 {
			<-offers
		}
	})
}

func TestALongPollSaysWhenItIsUnknownWhatIsFree(t *testing.T) {
	onVigil(t, func(b *bench, h *hints, _ chan struct{}) {
		offers := b.longPolls(2, longPoll)
		time.Sleep(time.Second)
		b.mini.Down()
		h.give(redisevents.Gap{})
		for range 2 {
			if o := <-offers; o.code != http.StatusServiceUnavailable || retryAfter(o.reply) < 1 {
				t.Errorf("%d after %s: %s", o.code, o.after, o.text)
			}
		}
	})
}

func TestLooksAtEverythingLeaveRedisAlone(t *testing.T) {
	onVigil(t, func(b *bench, h *hints, _ chan struct{}) {
		b.put("s1", external)
		b.want(http.StatusCreated, "POST", s1, asW1)
		b.link.Delay(100*time.Millisecond, 0, nil) // a look takes a while
		scans := 0
		b.mini.Server().SetPreHook(func(c *server.Peer, cmd string, args ...string) bool {
			if cmd == "SCAN" {
				scans++
			}
			return b.mini.Hook(c, cmd, args...)
		})
		offers := b.longPolls(1, longPoll)
		for range 290 {
			time.Sleep(100 * time.Millisecond)
			h.give(redisevents.Gap{})
		}
		if scans < 5 || scans > 20 {
			t.Errorf("%d looks in 30 s, each of at least 0.2 s", scans)
		}
		if o := <-offers; o.text != "[]" || o.after != 30*time.Second {
			t.Errorf("%d after %s: %s", o.code, o.after, o.text)
		}
		time.Sleep(time.Second) // a look that was under way ends
	})
}

func TestWaitsThatCanNotBeAreRefused(t *testing.T) {
	onVigil(t, func(b *bench, _ *hints, _ chan struct{}) {
		for _, query := range []string{"wait=x", "wait=-1s", "wait=61s", "wait=30", "wait=1s&cursor=e30"} {
			b.want(http.StatusUnprocessableEntity, "GET", free+"&"+query, "")
		}
		if o := <-b.longPolls(1, free+"&wait=60s"); o.after != time.Minute {
			t.Errorf("after %s", o.after)
		}
		if o := <-b.longPolls(1, free+"&wait=0s"); o.after != 0 || o.text != "[]" {
			t.Errorf("after %s: %s", o.after, o.text)
		}
	})
}

// The limits of a server that keep slow clients off do not end a long poll.
func TestALongPollOutlastsTheServersLimits(t *testing.T) {
	client := redistest.StartServer(t).Client()
	defer func() { _ = client.Close() }()
	s := httptest.NewUnstartedServer(httpapi.New(httpapi.Config{Leases: &httpapi.Leases{
		Store: redisstore.New(client, rediskey.Default(), redisstore.Options{}), TTL: ttl, Loopback: true, Log: (*eventlog.Log)(nil),
	}}))
	s.Config.ReadTimeout, s.Config.WriteTimeout = 100*time.Millisecond, 100*time.Millisecond
	s.Start()
	defer s.Close()
	at := time.Now()
	resp, err := s.Client().Get(s.URL + free + "&wait=500ms")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if d := time.Since(at); resp.StatusCode != http.StatusOK || d < 500*time.Millisecond {
		t.Errorf("%d after %s", resp.StatusCode, d)
	}
}
