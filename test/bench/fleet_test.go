package bench

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"leasehold/internal/redistest"
	"leasehold/rediskey"
)

const (
	// others are the keys with a TTL that are in Redis beside the fleet's, where a line
	// asks for some: what makes Redis slow to notice that a lease has run out.
	others      = 100_000
	chunk       = 5_000 // commands in one pipeline
	flags       = "KEgx$e"
	settleLimit = time.Minute
)

// stand is a Redis that somebody is measured on.
type stand struct {
	t     *testing.T
	redis *redistest.Server
	rdb   *redis.Client
	watch *watch
}

func newStand(t *testing.T) *stand {
	t.Helper()
	s := &stand{t: t, redis: redistest.StartServer(t, "--notify-keyspace-events", flags)}
	s.rdb = s.redis.Client(func(o *redis.Options) { o.ReadTimeout, o.WriteTimeout = time.Minute, time.Minute })
	t.Cleanup(func() { _ = s.rdb.Close() })
	s.watch = startWatch(t, s.redis)
	return s
}

// pipe sends a command for each number below n.
func (s *stand) pipe(n int, each func(p redis.Pipeliner, i int)) []redis.Cmder {
	s.t.Helper()
	var all []redis.Cmder
	for from := 0; from < n; from += chunk {
		cmds, err := s.rdb.Pipelined(s.t.Context(), func(p redis.Pipeliner) error {
			for i := from; i < min(n, from+chunk); i++ {
				each(p, i)
			}
			return nil
		})
		if err != nil && err != redis.Nil { //nolint:errorlint // a pipeline returns the first command's own
			s.t.Fatal(err)
		}
		all = append(all, cmds...)
	}
	return all
}

// fill puts keys of others into Redis that run out some time after the test.
func (s *stand) fill() {
	s.t.Helper()
	s.pipe(others, func(p redis.Pipeliner, i int) {
		p.Set(s.t.Context(), fmt.Sprintf("other:%d", i), "x", time.Hour+time.Duration(i)*time.Millisecond)
	})
}

// deadlines are when each of the keys runs out.
func (s *stand) deadlines(keys []string) map[string]time.Time {
	s.t.Helper()
	at := make(map[string]time.Time, len(keys))
	for i, cmd := range s.pipe(len(keys), func(p redis.Pipeliner, i int) { p.PExpireTime(s.t.Context(), keys[i]) }) {
		d, err := cmd.(*redis.DurationCmd).Result()
		if err != nil || d < 0 {
			s.t.Fatalf("the deadline of %s: %v, %v", keys[i], d, err)
		}
		at[keys[i]] = time.UnixMilli(d.Milliseconds())
	}
	return at
}

// commands is how many commands Redis has answered.
func (s *stand) commands() float64 { return s.info("stats", "total_commands_processed") }

// busy is how long the server's processes have worked.
func (s *stand) busy() time.Duration {
	return time.Duration((s.info("cpu", "used_cpu_sys") + s.info("cpu", "used_cpu_user")) * float64(time.Second))
}

func (s *stand) info(section, name string) float64 {
	s.t.Helper()
	text, err := s.rdb.Info(s.t.Context(), section).Result()
	if err != nil {
		s.t.Fatal(err)
	}
	for line := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			v, _ := strconv.ParseFloat(strings.TrimSpace(value), 64)
			return v
		}
	}
	s.t.Fatalf("INFO %s has no %s", section, name)
	return 0
}

// fleet is a stand with sessions and nodes.
type fleet struct {
	*stand

	keys     rediskey.Keys
	ttl      time.Duration
	target   *target
	sessions []string
	nodes    []*process
	named    atomic.Int32
}

// newFleet has no session and no node. A zero TTL leaves the defaults.
func newFleet(t *testing.T, ttl time.Duration) *fleet {
	t.Helper()
	return &fleet{stand: newStand(t), keys: rediskey.Default(), ttl: ttl, target: startTarget(t)}
}

// put stores so many sessions with an interval.
func (f *fleet) put(n int, interval time.Duration) {
	f.t.Helper()
	for range n {
		f.sessions = append(f.sessions, fmt.Sprintf("session-%06d", len(f.sessions)))
	}
	added := f.sessions[len(f.sessions)-n:]
	f.pipe(n, func(p redis.Pipeliner, i int) {
		p.Set(f.t.Context(), f.keys.Session(added[i]), f.document(added[i], interval), 0)
	})
}

func (f *fleet) document(id string, interval time.Duration) string {
	return fmt.Sprintf(`{"url":%q,"interval":%q}`, f.target.url(id), interval)
}

// begin starts a node and does not wait for it.
func (f *fleet) begin() *process {
	f.t.Helper()
	environ := []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"),
		"LEASEHOLD_REDIS_URL=" + f.redis.URL(), "LEASEHOLD_HTTP_ADDR=127.0.0.1:0",
		fmt.Sprintf("LEASEHOLD_INSTANCE_NAME=node%d", f.named.Add(1)),
	}
	if f.ttl > 0 {
		environ = append(environ,
			"LEASEHOLD_LEASE_TTL="+f.ttl.String(), "LEASEHOLD_LEASE_RENEW_INTERVAL="+(f.ttl/3).String(),
			"LEASEHOLD_HEARTBEAT_TTL="+f.ttl.String(), "LEASEHOLD_HEARTBEAT_INTERVAL="+(f.ttl/3).String())
	}
	n := launch(f.t, binary, environ, "run")
	f.nodes = append(f.nodes, n)
	return n
}

// start starts nodes and waits until they have joined.
func (f *fleet) start(n int) {
	f.t.Helper()
	for range n {
		f.begin()
	}
	for _, p := range f.nodes {
		p.await(f.t)
	}
}

// leases are the keys of all sessions' leases.
func (f *fleet) leases() []string {
	keys := make([]string, len(f.sessions))
	for i, id := range f.sessions {
		keys[i] = f.keys.Lease(id)
	}
	return keys
}

// holders says who has which lease; free ones are left out.
func (f *fleet) holders() map[string]string {
	f.t.Helper()
	held := map[string]string{}
	for part := range slices.Chunk(f.leases(), chunk) {
		values, err := f.rdb.MGet(f.t.Context(), part...).Result()
		if err != nil {
			f.t.Fatal(err)
		}
		for i, v := range values {
			if holder, ok := v.(string); ok {
				held[part[i]] = holder
			}
		}
	}
	return held
}

// settled waits until the nodes that run share all sessions evenly and each session was
// polled, and a moment more. It returns the holders.
func (f *fleet) settled() map[string]string {
	f.t.Helper()
	var held map[string]string
	until(f.t, settleLimit, "the nodes share the sessions evenly", func() bool {
		held = f.holders()
		return len(held) == len(f.sessions) && f.even(held)
	})
	until(f.t, settleLimit, "all sessions are polled", func() bool { return f.target.count() >= len(f.sessions) })
	time.Sleep(2 * time.Second)
	return held
}

// even reports whether the nodes that run have as many as each other, give or take one.
func (f *fleet) even(held map[string]string) bool {
	loads := map[string]int{}
	for _, holder := range held {
		loads[holder]++
	}
	total, least, most := 0, len(held), 0
	for _, n := range f.nodes {
		total, least, most = total+loads[n.id], min(least, loads[n.id]), max(most, loads[n.id])
	}
	return total == len(held) && most-least <= 1
}

// of are the leases that a node has.
func of(held map[string]string, n *process) []string {
	var keys []string
	for key, holder := range held {
		if holder == n.id {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// lags are how long after the one the other came, in milliseconds.
func lags(from, to map[string]time.Time) []float64 {
	all := make([]float64, 0, len(from))
	for key, at := range from {
		all = append(all, millis(to[key].Sub(at)))
	}
	return all
}
