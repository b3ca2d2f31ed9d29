package fleet

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"

	"leasehold/leasemanager"
	"leasehold/test/fleet/check"
)

// embedded is a service that embeds the library: whichever session it can have it polls
// by itself for a while, and gives it back.
type embedded struct {
	*leasemanager.Member

	f    *fleet
	hold time.Duration

	mu    sync.Mutex
	polls int
}

// serve works on the sessions until ctx ends.
func (e *embedded) serve(ctx context.Context, ids []string) {
	var all sync.WaitGroup
	for _, id := range ids {
		all.Go(func() {
			for ctx.Err() == nil {
				if ours, err := e.TryAcquire(ctx, id); err != nil || !ours {
					pause(ctx, 50*time.Millisecond)
					continue
				}
				e.work(ctx, id)
			}
		})
	}
	all.Wait()
}

// work polls as long as the lease is its own, and no longer than it holds one.
func (e *embedded) work(ctx context.Context, id string) {
	for until := time.Now().Add(e.hold); ctx.Err() == nil && time.Now().Before(until) && e.IsOwned(id); {
		e.poll(id)
		pause(ctx, e.f.plan.interval/2)
	}
	if err := e.Release(context.WithoutCancel(ctx), id); err != nil && !errors.Is(err, leasemanager.ErrStopped) {
		e.f.t.Errorf("release of %s: %v", id, err)
	}
}

func (e *embedded) poll(id string) {
	token, ours := e.Token(id)
	if !ours {
		return
	}
	req, err := http.NewRequestWithContext(e.Context(id), http.MethodGet, e.f.served.URL(id), http.NoBody)
	if err != nil {
		e.f.t.Error(err)
		return
	}
	req.Header.Set("Leasehold-Instance", e.InstanceID())
	req.Header.Set("Leasehold-Token", strconv.FormatInt(token, 10))
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return // the lease ended
	}
	_ = resp.Body.Close()
	e.mu.Lock()
	defer e.mu.Unlock()
	e.polls++
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// A service that embeds the library, workers of the API and nodes want the same sessions,
// while nodes are killed, frozen and started.
func TestTheLibraryAndWorkersBesideNodes(t *testing.T) {
	long(t)
	f := newFleet(t, plan{})
	ids := f.putMany(8)
	nodes := f.start("a", "b", "c")
	f.settled(f.recovered(), nodes...)

	m, err := leasemanager.New(leasemanager.Config{
		RedisURL: f.redis.URL(), Name: "library", LeaseTTL: f.plan.ttl,
	}, leasemanager.WithoutHeartbeat())
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	e := &embedded{Member: m, f: f, hold: 3 * time.Second}
	ctx, cancel := context.WithCancel(t.Context())
	var served sync.WaitGroup
	served.Go(func() { e.serve(ctx, ids) })

	wait(2 * time.Second)
	nodes[0].kill()
	wait(f.plan.ttl + 2*time.Second) // its sessions are whoever's is first
	nodes[1].pause()
	wait(f.plan.ttl + 2*time.Second)
	nodes[1].proceed()
	w1 := f.worker("w1", nodes[2])
	for range 40 { // one of many who want it
		if a, err := w1.ask("POST", leasePath(ids[0]), w1.me()); err == nil && a.code == http.StatusCreated {
			w1.must(http.StatusNoContent, "DELETE", leasePath(ids[0]), w1.me())
		}
		wait(100 * time.Millisecond)
	}
	nodes = append(nodes[1:], f.start("d")...)
	nodes[1].term()
	wait(4 * time.Second)

	cancel()
	served.Wait()
	stopped := f.target.Now()
	if err := m.Stop(); err != nil {
		t.Error(err)
	}
	if e.polls < 10 {
		t.Errorf("the library polled %d times", e.polls)
	}
	f.passes(stopped, f.plan.ttl+4*f.plan.interval)
	f.pass("resumed", check.Resumed(f.history(), ids, stopped, f.plan.ttl+2*f.plan.interval, len(ids)).Err())
	f.safe(60)
	t.Logf("the library polled %d times", e.polls)
}
