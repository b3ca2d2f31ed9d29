//go:build unix

package httpapi_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"leasehold/eventlog"
	"leasehold/httpapi"
	"leasehold/internal/redistest"
	"leasehold/rediskey"
	"leasehold/redisstore"
)

const hangTimeout = time.Second

// hanging is a lease API over a cluster of which one master can stand still.
type hanging struct {
	t      *testing.T
	admin  *redis.ClusterClient
	victim *redistest.Server
	keys   rediskey.Keys
	serve  http.Handler
	next   int
}

func newHanging(t *testing.T) *hanging {
	t.Helper()
	cluster := redistest.StartCluster(t)
	h := &hanging{t: t, admin: cluster.Client(), victim: cluster.Nodes[0], keys: rediskey.Default()}
	t.Cleanup(func() { _ = h.admin.Close() })
	for _, n := range cluster.Nodes { // nobody takes its place, and the others go on
		c := n.Client()
		for name, value := range map[string]string{"cluster-require-full-coverage": "no", "cluster-node-timeout": "60000"} {
			if err := c.ConfigSet(t.Context(), name, value).Err(); err != nil {
				t.Fatal(err)
			}
		}
		_ = c.Close()
	}
	client, err := redisstore.Open(cluster.URL(), redisstore.OpenOptions{Timeout: hangTimeout})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	h.serve = httpapi.New(httpapi.Config{Leases: &httpapi.Leases{
		Store: redisstore.New(client, h.keys, redisstore.Options{Timeout: hangTimeout}),
		TTL:   ttl, Loopback: true, Log: eventlog.New(io.Discard, eventlog.Options{}),
		Node: func() httpapi.Node { return httpapi.Node{} },
	}})
	return h
}

func (h *hanging) send(path, body string) (int, string) {
	r := httptest.NewRequestWithContext(h.t.Context(), http.MethodPost, path, strings.NewReader(body))
	r.Host = "127.0.0.1"
	w := httptest.NewRecorder()
	h.serve.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

// hangs has the master stand still until the test ends.
func (h *hanging) hangs() {
	h.victim.Pause()
	h.t.Cleanup(h.victim.Continue)
}

// lent takes a new session for w1 whose document, and whose lease, is on the master that
// will hang, or is not.
func (h *hanging) lent(document, grant bool) string {
	h.t.Helper()
	on := func(key string) bool {
		m, err := h.admin.MasterForKey(h.t.Context(), key)
		if err != nil {
			h.t.Fatal(err)
		}
		return m.Options().Addr == h.victim.Addr()
	}
	for {
		id := fmt.Sprintf("s%d", h.next)
		h.next++
		if on(h.keys.Session(id)) != document || on(h.keys.Lease(id)) != grant {
			continue
		}
		if err := h.admin.Set(h.t.Context(), h.keys.Session(id), external, 0).Err(); err != nil {
			h.t.Fatal(err)
		}
		if code, text := h.send(leaseOf(id), asW1); code != http.StatusCreated {
			h.t.Fatal(code, text)
		}
		return id
	}
}

// A worker renews all its leases in one call. Those that have nothing on the master that
// hangs go on, also while other workers' batches wait for it.
func TestABatchGoesOnWithWhatAHungMasterHasNoPartIn(t *testing.T) {
	h := newHanging(t)
	var list []string
	fine := map[string]bool{}
	for range 5 {
		for _, on := range [][2]bool{{false, false}, {true, false}, {false, true}, {true, true}} {
			id := h.lent(on[0], on[1])
			fine[id] = on == [2]bool{}
			list = append(list, fmt.Sprintf(`{"session_id":%q}`, id))
		}
	}
	body := `{"holder_id":"w1","leases":[` + strings.Join(list, ",") + `]}`
	if code, text := h.send(batchPath, body); code != http.StatusOK || strings.Count(text, `"status":200`) != len(fine) {
		t.Fatal(code, text)
	}
	h.hangs()
	const workers = 10
	done := make(chan struct{}, workers)
	for range workers {
		go func() {
			defer func() { done <- struct{}{} }()
			began := time.Now()
			code, text := h.send(batchPath, body)
			took := time.Since(began)
			if code != http.StatusOK {
				t.Errorf("%d after %s: %s", code, took, text)
			}
			// A wait for a turn, and one for each of two answers that don't come.
			if took > 2*time.Second+2*hangTimeout+500*time.Millisecond {
				t.Errorf("answered after %s", took)
			}
			for _, part := range strings.Split(text, `{"`)[1:] {
				for id, good := range fine {
					if strings.Contains(part, fmt.Sprintf(`"session_id":%q`, id)) && strings.Contains(part, `"status":200`) != good {
						t.Errorf("%s, which is fine: %t, has %s", id, good, part)
					}
				}
			}
		}()
	}
	for range workers {
		<-done
	}
}

// Requests that wait for a master that hangs, by its document or its lease, take no turns
// of those about others.
func TestRequestsAboutAHungMasterDelayNoOthers(t *testing.T) {
	h := newHanging(t)
	fine := h.lent(false, false)
	stuck := []string{h.lent(false, true), h.lent(true, true)}
	for range 4 { // their leases are on both of the others
		stuck = append(stuck, h.lent(true, false))
	}
	h.hangs()
	for _, id := range stuck {
		for range 16 {
			go func() {
				for t.Context().Err() == nil {
					h.send(leaseOf(id)+"/renew", asW1)
				}
			}()
		}
	}
	time.Sleep(200 * time.Millisecond)
	for began := time.Now(); time.Since(began) < 4*time.Second; time.Sleep(20 * time.Millisecond) {
		at := time.Now()
		if code, text := h.send(leaseOf(fine)+"/renew", asW1); code != http.StatusOK || time.Since(at) > hangTimeout/2 {
			t.Fatalf("%d after %s: %s", code, time.Since(at), text)
		}
	}
	if code, text := h.send(leaseOf(stuck[0])+"/renew", asW1); code != http.StatusServiceUnavailable {
		t.Errorf("%d: %s", code, text)
	}
}
