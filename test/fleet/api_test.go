package fleet

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"leasehold/lease"
	"leasehold/target"
	"leasehold/test/fleet/check"
)

// worker is a holder of leases that is no node: it knows the HTTP API alone.
type worker struct {
	f    *fleet
	name string
	base string
	// token is the bearer token; empty: none.
	token string
}

// worker returns one that speaks to the node.
func (f *fleet) worker(name string, n *node) *worker {
	f.t.Helper()
	return &worker{f: f, name: name, base: n.site() + "/api/v1"}
}

// answer is what the API said.
type answer struct {
	code      int
	text      string
	Holder    string      `json:"holder_id"`
	Version   lease.Token `json:"version"`
	ExpiresAt time.Time   `json:"expires_at"`
}

// ask sends one request on a connection of its own. It may be called from any goroutine.
func (w *worker) ask(method, path, body string) (answer, error) {
	r, err := http.NewRequestWithContext(w.f.t.Context(), method, w.base+path, strings.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	if w.token != "" {
		r.Header.Set("Authorization", "Bearer "+w.token)
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 5 * time.Second}
	resp, err := client.Do(r)
	if err != nil {
		return answer{}, err
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	a := answer{code: resp.StatusCode, text: string(text)}
	if err == nil && strings.HasPrefix(a.text, "{") {
		err = json.Unmarshal(text, &a)
	}
	return a, err
}

// must is ask, with a status that it must have.
func (w *worker) must(code int, method, path, body string) answer {
	w.f.t.Helper()
	a, err := w.ask(method, path, body)
	if err != nil || a.code != code {
		w.f.t.Fatalf("%s: %s %s: %d, want %d: %s %v", w.name, method, path, a.code, code, a.text, err)
	}
	return a
}

func leasePath(id string) string { return "/sessions/" + url.PathEscape(id) + "/lease" }

// me is the body that names the worker.
func (w *worker) me() string { return fmt.Sprintf(`{"holder_id":%q}`, w.name) }

// take acquires a lease that is free.
func (w *worker) take(id string) answer {
	w.f.t.Helper()
	a := w.must(http.StatusCreated, "POST", leasePath(id), w.me())
	if a.Holder != w.name {
		w.f.t.Fatalf("%s took %s and is told %s", w.name, id, a.text)
	}
	return a
}

const untouched = `{"kind":"external"}`

// C37: holders that are no nodes repeat their requests, compete, come late and hold on,
// while nodes run.
func TestWorkersHoldLeasesBesideTheNodes(t *testing.T) {
	long(t)
	f := newFleet(t, plan{})
	ids := f.putMany(6) // s0 to s5
	for _, id := range []string{"x1", "x2", "x3"} {
		f.put(id, untouched)
	}
	nodes := f.start("a", "b")
	w1, other := f.worker("w1", nodes[0]), f.worker("w1", nodes[1])

	f.repeats(w1, other)
	f.twelve(nodes)
	f.late(w1, f.worker("w2", nodes[1]))
	f.heldByRenewals(w1, other, nodes)

	w := check.Window{From: f.target.Now()}
	wait(4 * f.plan.interval)
	w.To = f.target.Now()
	h := f.history()
	f.pass("nodes", check.All(check.Gaps(h, ids, w, f.plan.interval*3/2, 3*len(ids)), check.Spread(h, ids, idsOf(nodes), w, 2, 10)))
	if n := len(startsOf(h, "x2")) + len(startsOf(h, "x3")); n > 0 {
		t.Errorf("%d polls of sessions that are for workers alone", n)
	}
	f.safe(40)
}

// startsOf returns the polls of a session.
func startsOf(h check.History, id string) []time.Duration {
	var starts []time.Duration
	for _, p := range h.Polls {
		if p.Session == id {
			starts = append(starts, p.From)
		}
	}
	return starts
}

func (f *fleet) repeats(w1, other *worker) {
	f.t.Helper()
	took := w1.take("x1")
	for i, w := range []*worker{w1, other, w1} {
		if a := w.must(http.StatusOK, "POST", leasePath("x1"), w.me()); a.Version != took.Version || a.Holder != "w1" {
			f.t.Errorf("repeat %d: %s after %s", i, a.text, took.text)
		}
	}
	if a := other.must(http.StatusOK, "GET", leasePath("x1"), ""); a.Version != took.Version || a.Holder != "w1" {
		f.t.Errorf("shown as %s, taken as %s", a.text, took.text)
	}
}

func (f *fleet) twelve(nodes []*node) {
	f.t.Helper()
	var all sync.WaitGroup
	answers, errs := make([]answer, 12), make([]error, 12)
	for i := range answers {
		w := f.worker(fmt.Sprintf("rival-%d", i), nodes[i%len(nodes)])
		all.Go(func() { answers[i], errs[i] = w.ask("POST", leasePath("x2"), w.me()) })
	}
	all.Wait()
	holder := f.holders()["x2"]
	shown := f.worker("w1", nodes[0]).must(http.StatusOK, "GET", leasePath("x2"), "")
	won := 0
	for i, a := range answers {
		switch {
		case errs[i] != nil || a.Holder != holder || a.Version != shown.Version:
			f.t.Errorf("rival-%d: %d %s %v, while %s", i, a.code, a.text, errs[i], shown.text)
		case a.code == http.StatusCreated && holder == fmt.Sprintf("rival-%d", i):
			won++
		case a.code != http.StatusConflict:
			f.t.Errorf("rival-%d: %d %s, while %s", i, a.code, a.text, shown.text)
		}
	}
	if won != 1 {
		f.t.Errorf("%d of 12 got the lease", won)
	}
}

func (f *fleet) late(w1, w2 *worker) {
	f.t.Helper()
	old := w1.take("x3")
	until(f.t, f.plan.ttl+time.Second, "the lease of x3 runs out", func() bool { return f.holders()["x3"] == "" })
	next := w2.take("x3")
	if next.Version != old.Version+1 {
		f.t.Errorf("the token went from %d to %d", old.Version, next.Version)
	}
	was := fmt.Sprintf(`{"holder_id":"w1","version":%d}`, old.Version)
	for _, body := range []string{w1.me(), was} {
		w1.must(http.StatusNotFound, "POST", leasePath("x3")+"/renew", body)
		w1.must(http.StatusNoContent, "DELETE", leasePath("x3"), body)
		if holder := f.holders()["x3"]; holder != "w2" {
			f.t.Errorf("after w1's release %q has the lease of w2", holder)
		}
	}
	w2.must(http.StatusOK, "POST", leasePath("x3")+"/renew", fmt.Sprintf(`{"holder_id":"w2","version":%d}`, next.Version))
}

// heldByRenewals makes x1 a session of the nodes while w1 holds it.
func (f *fleet) heldByRenewals(w1, other *worker, nodes []*node) {
	f.t.Helper()
	took := w1.take("x1") // its first lease has run out meanwhile
	f.put("x1", "")
	began, last := f.target.Now(), time.Duration(0)
	for i := 0; f.target.Now() < began+3*f.plan.ttl; i++ {
		last = f.target.Now()
		a := []*worker{w1, other}[i%2].must(http.StatusOK, "POST", leasePath("x1")+"/renew", w1.me())
		if a.Version != took.Version || time.Until(a.ExpiresAt) > f.plan.ttl {
			f.t.Errorf("renewed as %s, taken as %s", a.text, took.text)
		}
		if starts := startsOf(f.history(), "x1"); len(starts) > 0 {
			f.t.Fatalf("polled at %v while w1 holds it", starts)
		}
		wait(f.plan.ttl / 3)
	}
	bound := f.plan.ttl + f.plan.interval + 2*time.Second
	f.passes(last, bound+f.plan.interval)
	h := f.history()
	f.pass("takeover", check.Resumed(h, []string{"x1"}, last, bound, 1).Err())
	i := slices.IndexFunc(h.Polls, func(p target.Record) bool { return p.Session == "x1" })
	if i < 0 {
		return // said above
	}
	first := h.Polls[i]
	f.t.Logf("polled %s after the last renewal, by token %d after %d", (first.From - last).Round(time.Millisecond), first.Token, took.Version)
	if first.Token != took.Version+1 || first.From < last+f.plan.ttl-time.Second || !slices.Contains(idsOf(nodes), first.Instance) {
		f.t.Errorf("first poll %+v after w1 held it with token %d until %s", first, took.Version, last+f.plan.ttl)
	}
	for _, s := range h.Leases {
		if s.Session == "x1" && s.Holder != "" && s.Holder != "w1" && s.At < last+f.plan.ttl-time.Second {
			f.t.Errorf("%q had the lease at %s, w1 renewed at %s", s.Holder, s.At, last)
		}
	}
}

func TestALeaseThatAWorkerGivesBackIsPolledAtOnce(t *testing.T) {
	t.Parallel()
	f := newFleet(t, plan{})
	f.put("x", untouched)
	nodes := f.start("a", "b")
	w1 := f.worker("w1", nodes[0])
	w1.take("x")
	f.put("x", "")
	wait(f.plan.ttl / 2)
	given := f.target.Now()
	w1.must(http.StatusNoContent, "DELETE", leasePath("x"), w1.me())
	f.passes(given, 3*f.plan.interval+time.Second)
	h := f.history()
	if starts := startsOf(h, "x"); len(starts) == 0 || starts[0] < given {
		t.Errorf("polled at %v, given back at %s", starts, given)
	}
	f.pass("takeover", check.Resumed(h, []string{"x"}, given, f.plan.interval+time.Second, 1).Err())
	if n := len(nodes[0].all(event("lease.released"), func(l line) bool { return l.Reason == "api" && l.Session == "x" })); n != 1 {
		t.Errorf("%d releases of the worker logged", n)
	}
}

// Without a token a node that listens to the network gives no lease to anybody.
func TestWhoMayUseTheAPIOfANodeOnTheNetwork(t *testing.T) {
	t.Parallel()
	f := newFleet(t, plan{})
	f.put("x", untouched)
	open, guarded := f.begin("a", "LEASEHOLD_HTTP_ADDR=0.0.0.0:0"), f.begin("b", "LEASEHOLD_HTTP_ADDR=0.0.0.0:0", "LEASEHOLD_API_TOKEN=s3cret", "LEASEHOLD_API_RESOURCE=scenes")
	open.ready()
	guarded.ready()
	reach := func(w *worker) *worker {
		w.base = strings.NewReplacer("0.0.0.0", "127.0.0.1", "[::]", "127.0.0.1").Replace(w.base)
		return w
	}
	reach(f.worker("w1", open)).must(http.StatusForbidden, "POST", leasePath("x"), `{"holder_id":"w1"}`)
	w := reach(f.worker("w1", guarded))
	w.must(http.StatusUnauthorized, "POST", leasePath("x"), w.me())
	if holder := f.holders()["x"]; holder != "" {
		t.Fatalf("%q got the lease", holder)
	}
	w.token = "s3cret"
	if a := w.must(http.StatusOK, "GET", "/scenes?leased=false", ""); a.text != `[{"scene_id":"x","version":0}]` {
		t.Error(a.text)
	}
	w.take("x")
	w.must(http.StatusOK, "POST", "/scenes/x/lease/renew", w.me())
	if a := w.must(http.StatusOK, "GET", "/sessions?leased=false", ""); a.text != `[]` {
		t.Error(a.text)
	}
}
