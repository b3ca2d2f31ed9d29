package fleet

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"leasehold/internal/redistest"
	"leasehold/lease"
	"leasehold/rediskey"
	"leasehold/target"
	"leasehold/test/fleet/check"
)

// plan is what a fleet is made with; zero values take the defaults of [newFleet].
type plan struct {
	ttl, interval time.Duration
	env           []string
	// replica has leases sampled from a replica, which expires nothing by being read.
	replica bool
	db      int
	// server is appended to the command line of Redis; on is a Redis that runs already.
	server []string
	on     *redistest.Server
	// login is the password of the trial's own clients.
	login string
	// prefix is of all keys, sessions' documents too.
	prefix string
	// ended is told of polls as they end; then nothing is kept, and no lease is sampled.
	ended io.Writer
}

// fleet is one Redis, one target and the nodes of a trial.
type fleet struct {
	*witness

	t      *testing.T
	plan   plan
	redis  *redistest.Server
	rdb    *redis.Client
	target *target.Target
	served *target.Server
	keys   rediskey.Keys
	nodes  []*node

	mu       sync.Mutex
	sessions map[string]bool
}

// newFleet starts a Redis and a target, and a witness that samples the leases of the
// sessions that are put. The TTL is 6 s, the interval of sessions 1 s.
func newFleet(t *testing.T, p plan) *fleet {
	t.Helper()
	if p.ttl == 0 {
		p.ttl = 6 * time.Second
	}
	if p.interval == 0 {
		p.interval = time.Second
	}
	f := &fleet{
		t: t, plan: p, keys: rediskey.Default(), sessions: map[string]bool{},
		target: target.New(target.Options{Keep: p.ended == nil, Log: p.ended}),
		redis:  p.on,
	}
	if p.prefix != "" {
		f.keys = rediskey.Keys{Prefix: p.prefix, SessionPrefix: p.prefix + "doc:"}
	}
	if f.redis == nil {
		f.redis = redistest.StartServer(t, append([]string{"--repl-diskless-sync-delay", "0"}, p.server...)...)
	}
	served, err := target.Serve(t.Context(), "127.0.0.1:0", f.target)
	if err != nil {
		t.Fatal(err)
	}
	f.served = served
	f.rdb = f.client(f.redis)
	if p.ended == nil {
		f.witness = startWitness(f)
	}
	return f
}

// client returns a client of a server for the fleet's database.
func (f *fleet) client(s *redistest.Server) *redis.Client {
	c := s.Client(func(o *redis.Options) { o.DB, o.Password = f.plan.db, f.plan.login })
	f.t.Cleanup(func() { _ = c.Close() })
	return c
}

// environ is the whole environment of a node: a later setting goes before an earlier.
func (f *fleet) environ(name string, more ...string) []string {
	ttl := f.plan.ttl
	env := map[string]string{}
	for _, s := range slices.Concat([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"),
		fmt.Sprintf("LEASEHOLD_REDIS_URL=redis://%s/%d", f.redis.Addr(), f.plan.db),
		"LEASEHOLD_INSTANCE_NAME=" + name,
		"LEASEHOLD_KEY_PREFIX=" + f.keys.Prefix, "LEASEHOLD_SESSION_PREFIX=" + f.keys.SessionPrefix,
		"LEASEHOLD_RESULT_STREAM=" + f.keys.Prefix + "results",
		"LEASEHOLD_HTTP_ADDR=127.0.0.1:0",
		"LEASEHOLD_LEASE_TTL=" + ttl.String(), "LEASEHOLD_LEASE_RENEW_INTERVAL=" + (ttl / 3).String(),
		"LEASEHOLD_HEARTBEAT_TTL=" + ttl.String(), "LEASEHOLD_HEARTBEAT_INTERVAL=" + (ttl / 3).String(),
		"LEASEHOLD_POLL_TIMEOUT=2s",
	}, f.plan.env, more) {
		key, value, _ := strings.Cut(s, "=")
		env[key] = value
	}
	var all []string
	for _, key := range slices.Sorted(maps.Keys(env)) {
		all = append(all, key+"="+env[key])
	}
	return all
}

// begin starts a node and does not wait for it.
func (f *fleet) begin(name string, env ...string) *node {
	f.t.Helper()
	n := launch(f.t, name, f.environ(name, env...))
	f.nodes = append(f.nodes, n)
	return n
}

// start starts nodes at once and waits until they have joined.
func (f *fleet) start(names ...string) []*node {
	f.t.Helper()
	started := make([]*node, 0, len(names))
	for _, name := range names {
		started = append(started, f.begin(name))
	}
	for _, n := range started {
		n.ready()
	}
	return started
}

// document is a session's document that polls the target.
func (f *fleet) document(id, more string) string {
	if !strings.Contains(more, `"interval"`) {
		more += fmt.Sprintf(`,"interval":%q`, f.plan.interval)
	}
	return fmt.Sprintf(`{"url":%q%s}`, f.served.URL(id), more)
}

// put stores a session's document; an empty one means the usual.
func (f *fleet) put(id, document string) {
	f.t.Helper()
	if document == "" {
		document = f.document(id, "")
	}
	f.set(f.keys.Session(id), document)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sessions[id] = true
}

// putMany stores so many sessions in one transaction and returns their IDs.
func (f *fleet) putMany(n int) []string {
	f.t.Helper()
	ids := make([]string, n)
	for i := range ids {
		ids[i] = fmt.Sprintf("s%d", i)
	}
	_, err := f.rdb.TxPipelined(f.t.Context(), func(p redis.Pipeliner) error {
		for _, id := range ids {
			p.Set(f.t.Context(), f.keys.Session(id), f.document(id, ""), 0)
		}
		return nil
	})
	if err != nil {
		f.t.Fatal(err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, id := range ids {
		f.sessions[id] = true
	}
	return ids
}

func (f *fleet) set(key, value string) {
	f.t.Helper()
	if err := f.rdb.Set(f.t.Context(), key, value, 0).Err(); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fleet) del(key string) {
	f.t.Helper()
	if err := f.rdb.Del(f.t.Context(), key).Err(); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fleet) known() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Sorted(maps.Keys(f.sessions))
}

// holders reads who has which session's lease now; free ones are left out.
func (f *fleet) holders() map[string]string {
	f.t.Helper()
	ids := f.known()
	keys := make([]string, len(ids))
	for i, id := range ids {
		keys[i] = f.keys.Lease(id)
	}
	values, err := f.rdb.MGet(f.t.Context(), keys...).Result()
	if err != nil {
		f.t.Fatal(err)
	}
	held := map[string]string{}
	for i, v := range values {
		if holder, ok := v.(string); ok {
			held[ids[i]] = holder
		}
	}
	return held
}

// settled waits until the nodes share all sessions evenly, and have so for a while.
// It returns the holders.
func (f *fleet) settled(limit time.Duration, nodes ...*node) map[string]string {
	f.t.Helper()
	var held map[string]string
	var from time.Time
	until(f.t, limit, "the nodes share the sessions evenly", func() bool {
		time.Sleep(20 * time.Millisecond) // each look reads all leases
		now := f.holders()
		if !even(now, len(f.known()), nodes) || !maps.Equal(now, held) {
			held, from = now, time.Now()
			return false
		}
		return time.Since(from) > time.Second
	})
	return held
}

// even reports whether all are held, by these nodes, within one of each other.
func even(held map[string]string, sessions int, nodes []*node) bool {
	counts := loads(held, nodes)
	total := 0
	for _, c := range counts {
		total += c
	}
	return len(held) == sessions && total == sessions && slices.Max(counts)-slices.Min(counts) <= 1
}

// loads returns how many sessions each of the nodes has, in order of size.
func loads(held map[string]string, nodes []*node) []int {
	counts := make([]int, len(nodes))
	for _, holder := range held {
		if i := slices.IndexFunc(nodes, func(n *node) bool { return n.id == holder }); i >= 0 {
			counts[i]++
		}
	}
	slices.Sort(counts)
	return counts
}

// of returns the sessions that the node has.
func of(held map[string]string, n *node) []string {
	var ids []string
	for id, holder := range held {
		if holder == n.id {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

func idsOf(nodes []*node) []string {
	ids := make([]string, len(nodes))
	for i, n := range nodes {
		ids[i] = n.id
	}
	return ids
}

// history is all that is known by now.
func (f *fleet) history() check.History {
	h := check.History{Polls: f.target.Records(), Leases: f.samples()}
	for _, n := range f.nodes {
		for _, l := range n.all(event("lease.acquired")) {
			h.Logged = append(h.Logged, check.Acquisition{Session: l.Session, Token: lease.Token(l.Version)})
		}
	}
	return h
}

// pass reports what broke.
func (f *fleet) pass(what string, err error) {
	f.t.Helper()
	if err != nil {
		f.t.Errorf("%s: %v", what, err)
	}
}

// safe judges what always holds.
func (f *fleet) safe(need int) {
	f.t.Helper()
	h := f.history()
	f.pass("safety", check.Safety(h, need))
	f.pass("terms", check.All(check.Acquisitions(h, check.Window{}, need), check.FailClosed(h, check.OwnerTolerance, need)))
}

// wait lets the fleet work for a while.
func wait(d time.Duration) { time.Sleep(d) }

// keysLike lists the keys of a pattern.
func (f *fleet) keysLike(pattern string) []string {
	f.t.Helper()
	found, err := f.rdb.Keys(context.Background(), pattern).Result()
	if err != nil {
		f.t.Fatal(err)
	}
	slices.Sort(found)
	return found
}

// median and most of durations, for the log.
func median(d []time.Duration) time.Duration {
	if len(d) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(d))
	return s[len(s)/2].Round(100 * time.Microsecond)
}

func most(d []time.Duration) time.Duration {
	if len(d) == 0 {
		return 0
	}
	return slices.Max(d).Round(100 * time.Microsecond)
}
