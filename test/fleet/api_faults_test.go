package fleet

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"leasehold/internal/redistest"
	"leasehold/test/fleet/check"
)

// A request takes effect in Redis and the reply is lost: the worker hears 503 and
// repeats it. What it finds then is its own first attempt, never a reason to give up
// or to take twice; and when others came meanwhile, they are left alone.
func TestAWorkerRepeatsWhatGotNoAnswer(t *testing.T) {
	t.Parallel()
	f := newFleet(t, plan{})
	f.put("x", untouched)
	f.put("y", untouched)
	proxy := redistest.StartProxy(t, f.redis.Addr())
	behind := f.begin("behind", fmt.Sprintf("LEASEHOLD_REDIS_URL=redis://%s/0", proxy.Addr()))
	sound := f.start("sound")[0]
	behind.ready()
	w1, other, w2 := f.worker("w1", behind), f.worker("w1", sound), f.worker("w2", sound)
	f.worker("warm", behind).all("y") // Redis knows the scripts

	// unheard has the reply lost to the next request that names w1: nodes send none.
	unheard := func(method, path, body string) {
		t.Helper()
		lost := proxy.LoseReply("w1")
		w1.must(http.StatusServiceUnavailable, method, path, body)
		select {
		case <-lost:
		default:
			t.Fatalf("%s %s: no reply was lost", method, path)
		}
	}
	unheard("POST", leasePath("x"), w1.me())
	took := other.must(http.StatusOK, "GET", leasePath("x"), "")
	for _, w := range []*worker{w1, other, w1} {
		if a := w.must(http.StatusOK, "POST", leasePath("x"), w.me()); a.Version != took.Version || a.Holder != "w1" {
			t.Errorf("taken again as %s, was %s", a.text, took.text)
		}
	}

	mine := fmt.Sprintf(`{"holder_id":"w1","version":%d}`, took.Version)
	unheard("POST", leasePath("x")+"/renew", mine)
	many := fmt.Sprintf(`{"holder_id":"w1","leases":[{"session_id":"x","version":%d},{"session_id":"y"}]}`, took.Version)
	for range 2 {
		a := w1.must(http.StatusOK, "POST", "/leases/renew", many)
		if strings.Count(a.text, `"status":200`) != 1 || strings.Count(a.text, fmt.Sprintf(`"version":%d`, took.Version)) != 1 {
			t.Errorf("renewed again as %s", a.text)
		}
	}

	unheard("DELETE", leasePath("x"), mine)
	next := w2.take("x")
	if next.Version != took.Version+1 {
		t.Errorf("the token went from %d to %d", took.Version, next.Version)
	}
	for _, body := range []string{mine, w1.me()} {
		w1.must(http.StatusNoContent, "DELETE", leasePath("x"), body)
		w1.must(http.StatusNotFound, "POST", leasePath("x")+"/renew", body)
	}
	if a := other.must(http.StatusConflict, "POST", leasePath("x"), w1.me()); a.Holder != "w2" || a.Version != next.Version {
		t.Errorf("w2's lease is shown as %s, taken as %s", a.text, next.text)
	}
}

// all takes, renews and releases a lease.
func (w *worker) all(id string) {
	w.f.t.Helper()
	w.take(id)
	w.must(http.StatusOK, "POST", leasePath(id)+"/renew", w.me())
	w.must(http.StatusNoContent, "DELETE", leasePath(id), w.me())
}

// A Redis that hangs makes everything unknown, in time for a worker's own clock.
func TestWithoutRedisNothingCountsAsFreeOrLost(t *testing.T) {
	t.Parallel()
	f := newFleet(t, plan{ttl: 12 * time.Second})
	f.put("x", untouched)
	f.put("y", untouched)
	w1 := f.worker("w1", f.start("a")[0])
	took := w1.take("x")

	f.redis.Pause()
	var asking sync.WaitGroup
	for _, r := range []struct{ method, path, body string }{
		{"POST", leasePath("y"), w1.me()},
		{"POST", leasePath("x"), `{"holder_id":"w2"}`},
		{"POST", leasePath("x") + "/renew", w1.me()},
		{"DELETE", leasePath("x") + "?holder_id=w2", ""},
		{"GET", leasePath("x"), ""},
		{"GET", "/sessions?leased=false", ""},
	} {
		asking.Go(func() {
			at := time.Now()
			a, err := w1.ask(r.method, r.path, r.body)
			if took := time.Since(at); err != nil || a.code != http.StatusServiceUnavailable || took > f.plan.ttl/3 {
				t.Errorf("%s %s: %d %s %v after %s", r.method, r.path, a.code, a.text, err, took)
			}
		})
	}
	asking.Wait()
	f.redis.Continue()

	var again answer
	until(t, readyLimit, "Redis answers again", func() bool {
		again, _ = w1.ask("POST", leasePath("x")+"/renew", w1.me())
		return again.code != http.StatusServiceUnavailable
	})
	if again.code != http.StatusOK || again.Version != took.Version {
		t.Errorf("renewed as %d %s, taken as %s", again.code, again.text, took.text)
	}
}

// Workers that ask for more than a slow Redis can do wait for each other. The node's
// own renewals, heartbeats and polls do not wait for them.
func TestWorkersDoNotStarveTheNode(t *testing.T) {
	t.Parallel()
	f := newFleet(t, plan{})
	ids := f.putMany(20)
	proxy := redistest.StartProxy(t, f.redis.Addr())
	n := f.begin("a", fmt.Sprintf("LEASEHOLD_REDIS_URL=redis://%s/0", proxy.Addr()))
	n.ready()
	f.settled(10*time.Second, n)
	const workers = 250
	for i := range workers {
		f.set(f.keys.Session(fmt.Sprintf("x%d", i)), untouched)
	}
	proxy.Delay(150 * time.Millisecond) // 16 connections have some 100 replies a second
	wait(2 * f.plan.interval)

	w := check.Window{From: f.target.Now()}
	var asking sync.WaitGroup
	var answered, granted atomic.Int64
	for i := range workers {
		worker := f.worker(fmt.Sprintf("w%d", i), n)
		asking.Go(func() {
			for f.target.Now() < w.From+8*time.Second {
				a, err := worker.ask("POST", leasePath(fmt.Sprintf("x%d", i)), worker.me())
				if err == nil {
					answered.Add(1)
				}
				if a.Version > 0 && a.Holder == worker.name {
					granted.Add(1)
				}
			}
		})
	}
	asking.Wait()
	w.To = f.target.Now()
	t.Logf("%d answers, %d of them leases", answered.Load(), granted.Load())
	if answered.Load() < workers || granted.Load() < 100 {
		t.Errorf("%d answers, %d of them leases", answered.Load(), granted.Load())
	}
	for _, e := range []string{"lease.renew_failed", "lease.expired", "lease.lost", "node.fenced"} {
		if lines := n.all(event(e)); len(lines) > 0 {
			t.Errorf("%d times %s: %s", len(lines), e, lines[0].text)
		}
	}
	f.pass("polls", check.Gaps(f.history(), ids, w, 2*f.plan.interval, 5*len(ids)).Err())
}
