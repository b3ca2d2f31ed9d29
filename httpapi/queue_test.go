package httpapi_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"leasehold/httpapi"
	"leasehold/lease"
	"leasehold/lease/leasetest"
	"leasehold/redisstore"
)

// A Redis that takes 100 ms for each reply can do so many requests in time, and no
// more. They get their leases; whoever came too much hears 503 soon, and nothing was
// done.
func TestTooManyRequestsAtOnceAreRefusedBeforeAnythingIsDone(t *testing.T) {
	onBench(t, func(b *bench) {
		const all = 1000
		for i := range all {
			b.put(fmt.Sprintf("s%d", i), external)
		}
		b.want(http.StatusCreated, "POST", s1, asW1) // loads the script
		b.link.Delay(50*time.Millisecond, 0, nil)
		var asking sync.WaitGroup
		replies := make([]reply, all)
		took := make([]time.Duration, all)
		for i := range all {
			asking.Go(func() {
				at := time.Now()
				replies[i] = b.send("POST", fmt.Sprintf("/api/v1/sessions/s%d/lease", i), fmt.Sprintf(`{"holder_id":"h%d"}`, i))
				took[i] = time.Since(at)
			})
		}
		asking.Wait()
		codes := map[int]int{}
		for i, got := range replies {
			codes[got.code]++
			if i == 1 { // is w1's
				continue
			}
			holder := b.holder(fmt.Sprintf("s%d", i))
			if (got.code == http.StatusCreated) != (holder == fmt.Sprintf("h%d", i)) {
				t.Fatalf("h%d: %d %s, while Redis has %q", i, got.code, got.text, holder)
			}
			if got.code == http.StatusServiceUnavailable && retryAfter(got) < 1 {
				t.Errorf("no Retry-After: %s", got.text)
			}
			if took[i] > 3*time.Second {
				t.Errorf("answered after %s", took[i])
			}
		}
		// Two replies each, eight requests at once, for two seconds.
		if n := codes[http.StatusCreated]; n < 60 || codes[http.StatusCreated]+codes[http.StatusServiceUnavailable] < all-1 {
			t.Errorf("answers: %v", codes)
		}
	})
}

// slow is a body that comes to its end late.
type slow struct {
	io.Reader

	after time.Duration
}

func (s *slow) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	if err == io.EOF {
		time.Sleep(s.after)
	}
	return n, err
}

func TestASlowClientTakesNobodysTurn(t *testing.T) {
	onBench(t, func(b *bench) {
		b.put("s1", external)
		var asking sync.WaitGroup
		for range 100 {
			asking.Go(func() {
				r := httptest.NewRequestWithContext(b.t.Context(), "POST", s1, &slow{Reader: strings.NewReader(asW1), after: 5 * time.Second})
				r.Host = "127.0.0.1"
				b.serve.ServeHTTP(httptest.NewRecorder(), r)
			})
		}
		synctest.Wait()
		at := time.Now()
		b.want(http.StatusCreated, "POST", s1, asW1)
		if took := time.Since(at); took > time.Second {
			t.Errorf("answered after %s", took)
		}
		asking.Wait()
	})
}

// serial has Redis take so long for each key that a command names, one command after the
// other, as a Redis does that gets little of its processor.
type serial struct {
	perKey time.Duration
	turn   chan struct{}
}

func (serial) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook slows what reads many keys by one command.
func (s serial) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if cmd.Name() == "mget" {
			s.work(len(cmd.Args()) - 1)
		}
		return next(ctx, cmd)
	}
}

// work takes so long for so many keys, one call at a time.
func (s serial) work(keys int) {
	s.turn <- struct{}{}
	time.Sleep(time.Duration(keys) * s.perKey)
	<-s.turn
}

func (s serial) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		n := 0
		for _, c := range cmds {
			n++
			if args := c.Args(); c.Name() == "evalsha" { // keys come in pairs
				n += args[2].(int)/2 - 1
			}
		}
		s.work(n)
		if err := ctx.Err(); err != nil {
			for _, c := range cmds {
				c.SetErr(err)
			}
			return err
		}
		return next(ctx, cmds)
	}
}

// Ten workers that renew hundreds of leases each at the same moment, while Redis gets a
// fifth of the processor that it needs: each hears 200 for each lease, and what the node
// itself renews meanwhile waits for no more than what two batches read at a time.
func TestManyBatchesAtOnceAreAllRenewedAndDelayNobody(t *testing.T) {
	onBench(t, func(b *bench) {
		const workers, each, perKey = 10, 600, 250 * time.Microsecond
		bodies := b.lent(workers, each)
		store := b.slowed(perKey)
		var asking sync.WaitGroup
		answers := make([]reply, workers)
		for i := range answers {
			asking.Go(func() { answers[i] = b.send("POST", batchPath, bodies[i]) })
		}
		longest := b.ownRenewals(store, 5*time.Second)
		asking.Wait()
		for i, got := range answers {
			if n := strings.Count(got.text, `"status":200`); got.code != http.StatusOK || n != each {
				t.Errorf("worker %d: %d, %d of %d renewed: %.300s", i, got.code, n, each, got.text)
			}
		}
		for i := range workers * each {
			if left := b.left(fmt.Sprintf("s%d", i)); left < ttl-10*time.Second {
				t.Fatalf("s%d was renewed for %s", i, left)
			}
		}
		if most := 2*(each+each)*perKey + 100*time.Millisecond; longest > most {
			t.Errorf("the node's own renewals waited for up to %s, more than %s", longest, most)
		}
	})
}

// What is refused since it came too much is refused as a whole, with the time to come
// back, and nothing of it was renewed.
func TestABatchThatGetsNoTurnIsNotRenewedAtAll(t *testing.T) {
	onBench(t, func(b *bench) {
		const workers, each = 10, 400
		bodies := b.lent(workers, each)
		time.Sleep(ttl / 3)
		b.slowed(900 * time.Microsecond)
		var asking sync.WaitGroup
		answers := make([]reply, workers)
		for i := range answers {
			asking.Go(func() { answers[i] = b.send("POST", batchPath, bodies[i]) })
		}
		asking.Wait()
		codes := map[int]int{}
		for i, got := range answers {
			codes[got.code]++
			renewed := 0
			for j := range each {
				if b.left(fmt.Sprintf("s%d", i*each+j)) > ttl*2/3 {
					renewed++
				}
			}
			switch {
			case got.code == http.StatusOK && renewed == each:
			case got.code == http.StatusServiceUnavailable && renewed == 0 && retryAfter(got) >= 1:
			default:
				t.Errorf("worker %d: %d, %d of %d renewed: %.300s", i, got.code, renewed, each, got.text)
			}
		}
		// Three calls of 0.36 s each, for eight seconds.
		if codes[http.StatusOK] < 6 || codes[http.StatusServiceUnavailable] < 2 {
			t.Errorf("answers: %v", codes)
		}
	})
}

// slowed has the API ask a Redis that takes so long for each key, and returns the store.
func (b *bench) slowed(perKey time.Duration) *redisstore.Store {
	client := b.link.Client()
	b.t.Cleanup(func() { _ = client.Close() })
	client.AddHook(serial{perKey: perKey, turn: make(chan struct{}, 1)})
	store := redisstore.New(client, b.keys, redisstore.Options{})
	b.api.Store = store
	b.serve = httpapi.New(httpapi.Config{Leases: &b.api})
	return store
}

// lent has each worker take so many leases, and returns the requests that renew them.
// All scripts are loaded then.
func (b *bench) lent(workers, each int) (bodies []string) {
	b.t.Helper()
	for w := range workers {
		var claims []lease.Claim
		var list []string
		for i := range each {
			id := fmt.Sprintf("s%d", w*each+i)
			b.put(id, external)
			claims = append(claims, lease.Claim{Session: id, TTL: ttl})
			list = append(list, fmt.Sprintf(`{"session_id":%q}`, id))
		}
		for _, o := range b.api.Store.Acquire(b.t.Context(), fmt.Sprintf("w%d", w), claims) {
			if !o.Granted {
				b.t.Fatalf("%+v", o)
			}
		}
		b.want(http.StatusOK, "POST", batchPath, fmt.Sprintf(`{"holder_id":"w%d","leases":[%s]}`, w, list[0]))
		bodies = append(bodies, fmt.Sprintf(`{"holder_id":"w%d","leases":[%s]}`, w, strings.Join(list, ",")))
	}
	return bodies
}

// ownRenewals renews a lease as a node does, again and again, and returns the longest
// that one took.
func (b *bench) ownRenewals(store *redisstore.Store, lasting time.Duration) (longest time.Duration) {
	b.t.Helper()
	b.put("own", external)
	took := store.Acquire(b.t.Context(), "me-1-00000000", []lease.Claim{{Session: "own", TTL: ttl}})[0]
	for began := time.Now(); time.Since(began) < lasting; time.Sleep(50 * time.Millisecond) {
		sent := time.Now()
		grant := lease.Grant{Session: "own", Holder: "me-1-00000000", Token: took.Token}
		if v := store.Renew(b.t.Context(), leasetest.Renewals(ttl, grant))[0]; v.Err != nil {
			b.t.Errorf("the node's own renewal: %v", v.Err)
		}
		longest = max(longest, time.Since(sent))
	}
	return longest
}
