package fleet

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"leasehold/internal/redistest"
	"leasehold/test/fleet/check"
)

// addressed starts three nodes with nine sessions behind an address that can lead elsewhere.
func addressed(t *testing.T) (f *fleet, address *redistest.Proxy, ids []string, nodes []*node) {
	t.Helper()
	f = newFleet(t, plan{ttl: 3 * time.Second})
	address = redistest.StartProxy(t, f.redis.Addr())
	f.plan.env = []string{fmt.Sprintf("LEASEHOLD_REDIS_URL=redis://%s/0", address.Addr())}
	ids = f.putMany(9)
	nodes = f.start("a", "b", "c")
	f.settled(10*time.Second, nodes...)
	return f, address, ids, nodes
}

// A fail-over behind an unchanged address leaves old sockets open to the demoted
// server. C05: redis/go-redis#790, envoyproxy/ratelimit#1191, drogon#2548.
func TestAFailOverBehindAnUnchangedAddressIsFollowed(t *testing.T) {
	long(t)
	f, proxy, ids, nodes := addressed(t)
	master, other := f.redis, f.replicate()
	for _, n := range nodes {
		n.widen(8) // idle connections must move, too
	}
	before := f.pulse()
	direct, demoted := f.client(other), f.client(master)
	for _, n := range nodes {
		t.Logf("%s has %v", n.name, clients(t, demoted, n))
	}

	f.promote(other)
	proxy.Retarget(other.Addr())
	f.follow(master, other)
	over := f.target.Now()
	all := func() bool {
		time.Sleep(20 * time.Millisecond)
		for _, n := range nodes {
			there, here := clients(t, direct, n), clients(t, demoted, n)
			if there["normal"] == 0 || there["pubsub"] == 0 || here["normal"]+here["pubsub"] > 0 {
				return false
			}
		}
		return true
	}
	until(t, f.plan.ttl+5*time.Second, "all nodes use the new master, and none the old one", all)
	t.Logf("all connections moved %s after the fail-over", (f.target.Now() - over).Round(time.Millisecond))
	f.revived(ids, over, f.plan.ttl+5*time.Second)
	f.passes(over, 2*f.plan.ttl)
	held := f.settled(2*f.plan.ttl, nodes...)
	if !all() {
		t.Error("nodes have gone back to the demoted server")
	}
	f.flat(before)

	// A subscription left behind would see a replica's del, and no expiry.
	lost := of(held, nodes[2])
	nodes[2].kill()
	dead := f.target.Now()
	f.revived(lost, dead, f.recovered())
	h := f.history()
	f.pass("fail-over", check.All(
		check.Overlaps(h, 100), check.Tokens(h, 100), check.Owners(h, check.OwnerTolerance, 100),
		check.FailClosed(h, check.OwnerTolerance, 100), check.Acquisitions(h, check.Window{}, 100),
	))
}

// The address leads to another server, and the one before goes on, writable: nothing but a
// fresh connection can tell. Nodes that are connected follow it in ten seconds and a bit.
func TestAnAddressThatMovesIsFollowedThoughTheFormerServerGoesOn(t *testing.T) {
	long(t)
	f, proxy, ids, nodes := addressed(t)
	former, other := f.redis, f.replicate()
	left := f.client(former)
	f.promote(other)
	proxy.Retarget(other.Addr())
	over := f.target.Now()
	until(t, 12*time.Second, "nobody uses the former server", func() bool {
		time.Sleep(20 * time.Millisecond)
		for _, n := range nodes {
			if c := clients(t, left, n); c["normal"]+c["pubsub"] > 0 {
				return false
			}
		}
		return true
	})
	t.Logf("all connections moved %s after the address", (f.target.Now() - over).Round(time.Millisecond))
	all := slices.Concat(nodes, f.start("d"))
	moved := f.target.Now()
	f.revived(ids, moved, f.recovered())
	f.settled(3*f.plan.ttl, all...)
	f.passes(moved, 4*f.plan.ttl)
	h := f.history()
	f.pass("safety", check.All(check.Overlaps(h, 100), check.Tokens(h, 100)))
	f.pass("at rest", check.Gaps(h, ids, check.Window{From: f.target.Now() - 2*f.plan.ttl, To: f.target.Now()}, f.plan.interval*2, len(ids)).Err())
}

// widen has the node open that many connections to Redis at once, or some fewer.
func (n *node) widen(connections int) {
	n.t.Helper()
	var ready struct {
		Addr string `json:"http_addr"`
	}
	if err := json.Unmarshal([]byte(n.await(readyLimit, event("node.ready")).text), &ready); err != nil {
		n.t.Fatal(err)
	}
	var asking sync.WaitGroup
	for range 4 * connections {
		asking.Go(func() {
			req, err := http.NewRequestWithContext(n.t.Context(), http.MethodGet, "http://"+ready.Addr+"/readyz", http.NoBody)
			if err != nil {
				n.t.Error(err)
				return
			}
			res, err := http.DefaultClient.Do(req)
			if err != nil {
				n.t.Error(err)
				return
			}
			_ = res.Body.Close()
		})
	}
	asking.Wait()
}

// replicate starts a server that follows the fleet's.
func (f *fleet) replicate() *redistest.Server {
	f.t.Helper()
	r := redistest.StartServer(f.t, "--replicaof", "127.0.0.1", strconv.Itoa(f.redis.Port), "--repl-diskless-sync-delay", "0")
	until(f.t, readyLimit, "the replica follows", func() bool {
		return strings.Contains(f.rdb.Info(f.t.Context(), "replication").Val(), ",state=online,")
	})
	return r
}

// promote makes a master of a replica, from which the leases are read from now on.
func (f *fleet) promote(s *redistest.Server) {
	f.t.Helper()
	c := f.client(s)
	if err := c.Do(f.t.Context(), "REPLICAOF", "NO", "ONE").Err(); err != nil {
		f.t.Fatal(err)
	}
	f.look(c)
	f.redis, f.rdb = s, c
}

// follow makes a replica of a server.
func (f *fleet) follow(s, master *redistest.Server) {
	f.t.Helper()
	c := s.Client()
	defer func() { _ = c.Close() }()
	if err := c.Do(f.t.Context(), "REPLICAOF", "127.0.0.1", strconv.Itoa(master.Port)).Err(); err != nil {
		f.t.Fatal(err)
	}
}

// clients counts a node's connections to a server, by their kind: normal and pubsub.
func clients(t *testing.T, c *redis.Client, n *node) map[string]int {
	t.Helper()
	counts := map[string]int{}
	for _, kind := range []string{"normal", "pubsub"} {
		list, err := c.Do(t.Context(), "CLIENT", "LIST", "TYPE", kind).Text()
		if err != nil {
			t.Fatal(err)
		}
		counts[kind] = strings.Count(list, " name=leasehold:"+n.id+" ")
	}
	return counts
}
