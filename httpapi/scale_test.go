package httpapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"leasehold/eventlog"
	"leasehold/httpapi"
	"leasehold/internal/redistest"
	"leasehold/lease"
	"leasehold/redisevents"
	"leasehold/redisinfo"
	"leasehold/rediskey"
	"leasehold/redisstore"
	"leasehold/session"
)

// crowd is an API server over a Redis server with many sessions.
type crowd struct {
	t     *testing.T
	n     int
	serve http.Handler
	http  *httptest.Server
	store *counted
	rdb   redis.UniversalClient
	ids   []string
	spent time.Duration // of the CPU by Redis so far
}

const workers = 10

// counted counts what is read.
type counted struct {
	httpapi.Store

	leases, documents atomic.Int64
}

// Page implements [session.Source]. A step of Redis may name more than it was asked for.
func (s *counted) Page(ctx context.Context, cursor string, count int) (ids []string, next string, err error) {
	return s.Store.Page(ctx, cursor, count+count/2)
}

// Read implements [lease.Reader].
func (s *counted) Read(ctx context.Context, ids []string) []lease.Record {
	s.leases.Add(int64(len(ids)))
	return s.Store.Read(ctx, ids)
}

// Get implements [session.Source].
func (s *counted) Get(ctx context.Context, ids []string) ([]session.Document, error) {
	s.documents.Add(int64(len(ids)))
	return s.Store.Get(ctx, ids)
}

// newCrowd has SESSIONS sessions, or a few.
func newCrowd(t *testing.T) *crowd {
	t.Helper()
	c := &crowd{t: t, n: 2000}
	if text := os.Getenv("SESSIONS"); text != "" {
		c.n, _ = strconv.Atoi(text)
	}
	server := redistest.StartServer(t)
	client, err := redisstore.Open(server.URL(), redisstore.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	c.rdb = client
	keys := rediskey.Default()
	p := client.Pipeline()
	for i := range c.n {
		c.ids = append(c.ids, fmt.Sprintf("session-%06d", i))
		p.Set(t.Context(), keys.Session(c.ids[i]), `{"kind":"external","labels":{"team":"core"}}`, 0)
		if p.Len() == 1000 || i == c.n-1 {
			if _, err := p.Exec(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	events := redisevents.New(redisevents.Config{Client: client, Keys: keys, Mode: redisevents.Require})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- events.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	log := eventlog.New(io.Discard, eventlog.Options{Level: eventlog.Info})
	t.Cleanup(func() { log.Close() })
	c.store = &counted{Store: redisstore.New(client, keys, redisstore.Options{})}
	c.serve = httpapi.New(httpapi.Config{Leases: &httpapi.Leases{
		Store: c.store, TTL: time.Hour, Loopback: true, Log: log,
		Follow: func(limit int) httpapi.Feed { return events.Follow(limit) }, Recheck: recheck,
		Node: func() httpapi.Node { return httpapi.Node{InstanceID: "me-1-00000000"} },
	}})
	c.http = httptest.NewServer(c.serve)
	t.Cleanup(c.http.Close)
	for deadline := time.Now().Add(20 * time.Second); !events.Healthy(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("no events")
		}
	}
	return c
}

// ask makes a request over the network, and repeats it while the answer is that nothing
// is known, as a worker does: the machine may be busy. It may be called from any
// goroutine.
func (c *crowd) ask(method, path, body string, want int, into any) time.Duration {
	began := time.Now()
	for {
		code, text := c.once(method, path, body)
		switch {
		case code == http.StatusServiceUnavailable && c.t.Context().Err() == nil:
			continue
		case code != want:
			c.t.Errorf("%s %s: %d, want %d: %.300s", method, path, code, want, text)
		case into != nil:
			if err := json.Unmarshal(text, into); err != nil {
				c.t.Errorf("%s %s: %.300s: %v", method, path, text, err)
			}
		}
		return time.Since(began)
	}
}

func (c *crowd) once(method, path, body string) (code int, text []byte) {
	r, err := http.NewRequestWithContext(c.t.Context(), method, c.http.URL+path, strings.NewReader(body))
	if err != nil {
		return 0, []byte(err.Error())
	}
	resp, err := c.http.Client().Do(r)
	if err != nil {
		return 0, []byte(err.Error())
	}
	defer func() { _ = resp.Body.Close() }()
	text, err = io.ReadAll(resp.Body)
	if err != nil {
		return 0, []byte(err.Error())
	}
	return resp.StatusCode, text
}

// each calls do for all numbers below n, by the workers, and returns how long each took.
func each(n int, do func(i int) time.Duration) []time.Duration {
	took := make([]time.Duration, n)
	var group sync.WaitGroup
	for w := range workers {
		group.Go(func() {
			for i := w; i < n; i += workers {
				took[i] = do(i)
			}
		})
	}
	group.Wait()
	return took
}

func (c *crowd) told(what string, whole time.Duration, took []time.Duration) {
	c.t.Helper()
	slices.Sort(took)
	short := func(d time.Duration) time.Duration { return d.Round(10 * time.Microsecond) }
	before := c.spent
	info := c.rdb.Info(c.t.Context(), "cpu").Val()
	user, _ := strconv.ParseFloat(redisinfo.Field(info, "used_cpu_user_main_thread"), 64)
	system, _ := strconv.ParseFloat(redisinfo.Field(info, "used_cpu_sys_main_thread"), 64)
	c.spent = time.Duration((user + system) * float64(time.Second))
	c.t.Logf("%-30s %6d in %-9s p50 %-9s p99 %-9s max %-9s Redis' CPU %s", what, len(took), whole.Round(time.Millisecond),
		short(took[len(took)/2]), short(took[len(took)*99/100]), short(took[len(took)-1]), (c.spent - before).Round(time.Millisecond))
}

// pages goes through all that is free without a network, so that what is allocated is
// the server's, and returns how often each session was listed.
func (c *crowd) pages(limit int) map[string]int {
	c.t.Helper()
	var took []time.Duration
	var before, after runtime.MemStats
	var most, whole uint64
	seen := map[string]int{}
	began := time.Now()
	for next := fmt.Sprintf("%s&limit=%d", free, limit); next != ""; {
		w := httptest.NewRecorder()
		r := httptest.NewRequestWithContext(c.t.Context(), "GET", next, http.NoBody)
		r.Host = "localhost"
		c.store.leases.Store(0)
		c.store.documents.Store(0)
		runtime.ReadMemStats(&before)
		sent := time.Now()
		c.serve.ServeHTTP(w, r)
		took = append(took, time.Since(sent))
		runtime.ReadMemStats(&after)
		whole += after.TotalAlloc - before.TotalAlloc
		most = max(most, after.TotalAlloc-before.TotalAlloc)
		var list []freeSession
		if err := json.Unmarshal(w.Body.Bytes(), &list); err != nil || w.Code != http.StatusOK {
			c.t.Fatalf("%d %.300s: %v", w.Code, w.Body, err)
		}
		if len(list) > limit {
			c.t.Fatalf("a page has %d, and %d was the limit", len(list), limit)
		}
		// Where all is free a page needs what it lists, and one more to know of another.
		if leases, docs := c.store.leases.Load(), c.store.documents.Load(); len(list) > 0 && max(leases, docs) > int64(limit+1) {
			c.t.Errorf("a page of %d read %d leases and %d documents", limit, leases, docs)
		}
		for _, s := range list {
			seen[s.SessionID]++
		}
		_, link, _ := strings.Cut(w.Header().Get("Link"), "<")
		next, _, _ = strings.Cut(link, ">")
	}
	c.told(fmt.Sprintf("pages of %d", limit), time.Since(began), took)
	runtime.GC()
	runtime.ReadMemStats(&after)
	c.t.Logf("%-30s %d KiB a page, at most %d; live heap afterwards %d MiB",
		"", whole/uint64(len(took))>>10, most>>10, after.HeapAlloc>>20)
	// A step is about a thousand IDs, of which Redis may name twice as many; each costs a
	// key, a record and a document. However many sessions there are, it is no more.
	if len(seen) > 0 && most > mostAPage {
		c.t.Errorf("a page of %d took %d bytes, more than %d", limit, most, uint64(mostAPage))
	}
	return seen
}

// mostAPage bounds what is allocated for a page, in bytes.
const mostAPage = 16 << 20

// What holds at any number of sessions; SESSIONS=100000 go test -v shows how long it takes.
func TestAHundredThousandSessions(t *testing.T) {
	c := newCrowd(t)
	for _, limit := range []int{1000, 100} {
		seen := c.pages(limit)
		for _, id := range c.ids {
			if seen[id] != 1 {
				t.Fatalf("%s was listed %d times", id, seen[id])
			}
		}
		if len(seen) != c.n {
			t.Errorf("%d listed of %d", len(seen), c.n)
		}
	}
	began := time.Now()
	took := each(c.n, func(i int) time.Duration {
		return c.ask("POST", "/api/v1/sessions/"+c.ids[i]+"/lease", holder(i), http.StatusCreated, nil)
	})
	c.told("leases acquired", time.Since(began), took)
	c.renews()
	if seen := c.pages(100); len(seen) > 0 {
		t.Errorf("%d are listed as free", len(seen))
	}
	c.wakes()
}

func holder(i int) string { return fmt.Sprintf(`{"holder_id":"w%d"}`, i%workers) }

// renews has each worker renew a thousand of its own in one request, more than once where
// there are many.
func (c *crowd) renews() {
	c.t.Helper()
	bodies := make([]string, workers)
	some := min(1000, c.n/workers)
	for w := range workers {
		var list []string
		for i := w; len(list) < some; i += workers {
			list = append(list, fmt.Sprintf(`{"session_id":%q}`, c.ids[i]))
		}
		bodies[w] = fmt.Sprintf(`{"holder_id":"w%d","leases":[%s]}`, w, strings.Join(list, ","))
	}
	began := time.Now()
	took := each(workers*max(1, c.n/10_000), func(i int) time.Duration {
		sent := time.Now()
		for c.unknown(bodies[i%workers], i%workers, some) {
		}
		return time.Since(sent)
	})
	c.told(fmt.Sprintf("renewals of %d leases each", some), time.Since(began), took)
}

// unknown renews a worker's leases, and reports whether it has to ask again.
func (c *crowd) unknown(body string, worker, some int) bool {
	var got struct {
		Leases []struct {
			SessionID string `json:"session_id"`
			Status    int    `json:"status"`
		} `json:"leases"`
	}
	c.ask("POST", "/api/v1/leases/renew", body, http.StatusOK, &got)
	if len(got.Leases) != some {
		c.t.Errorf("%d answers for %d leases", len(got.Leases), some)
	}
	again := false
	for j, l := range got.Leases {
		again = again || l.Status == http.StatusServiceUnavailable
		if want := c.ids[worker+j*workers]; l.SessionID != want || l.Status != http.StatusOK && l.Status != http.StatusServiceUnavailable {
			c.t.Errorf("%s is answered by %+v", want, l)
		}
	}
	return again && c.t.Context().Err() == nil
}

// wakes has one wait while all are leased, and gives a lease back after a while.
func (c *crowd) wakes() {
	c.t.Helper()
	for _, rest := range []time.Duration{50 * time.Millisecond, 0} {
		var took []time.Duration
		began := time.Now()
		for i := range 20 {
			answered := make(chan time.Time, 1)
			go func() {
				var list []freeSession
				c.ask("GET", longPoll, "", http.StatusOK, &list)
				if i > 0 && len(list) == 1 && list[0].SessionID == c.ids[i-1] {
					// A look at it, begun before it was leased again, may have been slow.
					c.ask("GET", longPoll, "", http.StatusOK, &list)
				}
				answered <- time.Now()
				if len(list) != 1 || list[0].SessionID != c.ids[i] {
					c.t.Errorf("waiting brought %v, want %s", list, c.ids[i])
				}
			}()
			time.Sleep(rest)
			c.ask("DELETE", "/api/v1/sessions/"+c.ids[i]+"/lease?holder_id=w"+strconv.Itoa(i%workers), "", http.StatusNoContent, nil)
			freed := time.Now()
			took = append(took, max(0, (<-answered).Sub(freed)))
			c.ask("POST", "/api/v1/sessions/"+c.ids[i]+"/lease", holder(i), http.StatusCreated, nil)
		}
		c.told(fmt.Sprintf("woken, freed %s after", rest), time.Since(began), took)
	}
}
