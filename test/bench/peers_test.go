package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/bsm/redislock"
	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"

	"leasehold/internal/redistest"
)

const (
	peerLocks = 1000
	rueidisl  = "rueidislock"
	redisl    = "redislock"
	retry     = 100 * time.Millisecond // as redislock's own example waits
	// patience is what counts for a lock that nobody took, or took even later.
	patience = 30 * time.Second
)

// waiters are a library's goroutines, each of which waits for one lock.
type waiters struct {
	key   func(i int) string // of lock i in Redis
	begin func(ctx context.Context, t *testing.T, s *stand)
}

func libraries() map[string]waiters {
	return map[string]waiters{
		rueidisl: {
			key: func(i int) string { return fmt.Sprintf("rueidislock:0:lock%d", i) },
			begin: func(ctx context.Context, t *testing.T, s *stand) {
				t.Helper()
				locker := newRueidis(t, s)
				for i := range peerLocks {
					go func() { _, _, _ = locker.WithContext(ctx, fmt.Sprintf("lock%d", i)) }()
				}
			},
		},
		redisl: {
			key: func(i int) string { return fmt.Sprintf("lock%d", i) },
			begin: func(ctx context.Context, t *testing.T, s *stand) {
				t.Helper()
				locker := redislock.New(s.rdb)
				for i := range peerLocks {
					go func() {
						_, _ = locker.Obtain(ctx, fmt.Sprintf("lock%d", i), shortTTL,
							&redislock.Options{RetryStrategy: redislock.LinearBackoff(retry)})
					}()
				}
			},
		},
	}
}

func newRueidis(t *testing.T, s *stand) rueidislock.Locker {
	t.Helper()
	locker, err := rueidislock.NewLocker(rueidislock.LockerOption{
		ClientOption: rueidis.ClientOption{InitAddress: []string{s.redis.Addr()}},
		KeyMajority:  1, NoLoopTracking: true, KeyValidity: shortTTL, ExtendInterval: shortTTL / 3,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(locker.Close)
	return locker
}

// crashOfPeers lets 1,000 locks of a dead holder run out that others wait for.
func crashOfPeers(t *testing.T, r *report) {
	t.Helper()
	for who, w := range libraries() {
		for _, more := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s others=%v", who, more), func(t *testing.T) {
				late, calls := runOut(t, w, more)
				what := "crash of a node with 1,000 leases, 100,000 other keys: deadline → acquired, "
				if !more {
					what = "the same for 1,000 locks, few other keys: deadline → acquired, "
				}
				r.peer(t, who, what+"p50", "ms", quantile(late, 0.5))
				r.peer(t, who, what+"p99", "ms", quantile(late, 0.99))
				r.peer(t, who, "commands a waiting lock and second", "", calls)
			})
		}
	}
}

// runOut returns how late locks were taken, and the commands a lock and second until then.
func runOut(t *testing.T, w waiters, more bool) (late []float64, calls float64) {
	t.Helper()
	s := newStand(t)
	if more {
		s.fill()
	}
	keys := s.held(w)
	before, begun := s.commands(), time.Now()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 2*patience)
	defer cancel()
	w.begin(ctx, t, s)
	time.Sleep(3 * time.Second)
	calls = (s.commands() - before) / peerLocks / seconds(time.Since(begun))
	deadlines := s.deadlines(keys)
	taken := s.watch.firstOf(t, begun, "set", keys, patience)
	for _, key := range keys {
		if _, ok := taken[key]; !ok {
			taken[key] = deadlines[key].Add(patience) // or later
		}
	}
	return lags(deadlines, taken), calls
}

// held leaves locks as a holder that died does: their deadlines are as far apart as its
// renewals were.
func (s *stand) held(w waiters) []string {
	s.t.Helper()
	keys := make([]string, peerLocks)
	s.pipe(peerLocks, func(p redis.Pipeliner, i int) {
		keys[i] = w.key(i)
		p.Set(s.t.Context(), keys[i], "dead", shortTTL+shortTTL/3*time.Duration(i)/peerLocks)
	})
	return keys
}

// stopOfPeers deletes 1,000 locks one after the other, as holders that stop do.
func stopOfPeers(t *testing.T, r *report) {
	t.Helper()
	for who, w := range libraries() {
		t.Run(who, func(t *testing.T) {
			s := newStand(t)
			keys := s.held(w)
			ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 2*patience)
			defer cancel()
			w.begin(ctx, t, s)
			time.Sleep(time.Second)
			begun := time.Now()
			for part := range slices.Chunk(keys, 100) {
				if err := s.rdb.Del(t.Context(), part...).Err(); err != nil {
					t.Fatal(err)
				}
			}
			taken := s.watch.first(t, begun, "set", keys, time.Minute)
			late := lags(s.watch.first(t, begun, "del", keys, time.Minute), taken)
			what := "graceful stop of a node with 1,000 leases: released → acquired, "
			r.peer(t, who, what+"p50", "ms", quantile(late, 0.5))
			r.peer(t, who, what+"p99", "ms", quantile(late, 0.99))
		})
	}
}

// renewOfPeers holds locks as rueidislock does, and leases by a script call each.
func renewOfPeers(t *testing.T, r *report) {
	t.Helper()
	t.Run(rueidisl, func(t *testing.T) {
		s := newStand(t)
		locker := newRueidis(t, s)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for i := range peerLocks {
			go func() { _, _, _ = locker.WithContext(context.WithoutCancel(t.Context()), fmt.Sprintf("lock%d", i)) }()
		}
		until(t, patience, "all locks are held", func() bool { return s.rdb.DBSize(t.Context()).Val() == peerLocks })
		runtime.ReadMemStats(&after)
		u := s.used(os.Getpid())
		r.peer(t, rueidisl, callsALease, "", u.commands/peerLocks*seconds(shortTTL/3))
		r.peer(t, rueidisl, redisALease, "µs", u.redis/peerLocks*seconds(shortTTL/3)*1e6)
		r.peer(t, rueidisl, "renewals: commands a lease and second, all included", "", u.commands/peerLocks)
		r.peer(t, rueidisl, "memory of a held lock", "KB", float64(after.HeapInuse+after.StackInuse-before.HeapInuse-before.StackInuse)/peerLocks/1000)
	})
	t.Run("timers", func(t *testing.T) {
		const leases = 10_000
		s := newStand(t)
		p := launchPeer(t, "timers", s, leases)
		time.Sleep(5 * time.Second)
		u := s.used(p.cmd.Process.Pid)
		const who = "an EVALSHA a lease"
		r.peer(t, who, callsALease, "", 1)
		r.peer(t, who, redisALease, "µs", u.redis/leases*10*1e6)
	})
}

// peers are what a process of this test can be instead.
func peers() map[string]func() {
	return map[string]func(){"timers": timers, "loop": loop}
}

// launchPeer starts a process of this test as one of the peers.
func launchPeer(t *testing.T, as string, s *stand, n int, env ...string) *process {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := launch(t, self, append(env, role+"="+as, "BENCH_REDIS="+s.redis.Addr(), "BENCH_N="+strconv.Itoa(n)))
	p.await(t)
	return p
}

// announce says what a node says once it is ready.
func announce() {
	fmt.Fprintln(os.Stderr, `{"event":"node.ready","instance_id":"peer","http_addr":"-"}`)
}

func count() int {
	n, _ := strconv.Atoi(os.Getenv("BENCH_N"))
	return n
}

// timers keeps leases by a goroutine, a timer and a script call each.
func timers() {
	ctx, rdb := context.Background(), redis.NewClient(redistest.Options(os.Getenv("BENCH_REDIS")))
	renewal := redis.NewScript(`if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('PEXPIRE', KEYS[1], ARGV[2]) end return 0`)
	n := count()
	for i := range n {
		go func() {
			key := fmt.Sprintf("timer:%d", i)
			time.Sleep(10 * time.Second * time.Duration(i) / time.Duration(n))
			_ = rdb.Set(ctx, key, "me", 30*time.Second).Err()
			for range time.Tick(10 * time.Second) {
				_ = renewal.Run(ctx, rdb, []string{key}, "me", 30_000).Err()
			}
		}()
	}
	time.Sleep(11 * time.Second)
	announce()
	wait()
}

// loop asks for a URL as fast as it can.
func loop() {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: count()}}
	for range count() {
		go func() {
			for {
				if err := get(client, os.Getenv("BENCH_URL")); err != nil {
					return
				}
			}
		}()
	}
	announce()
	wait()
}

func get(client *http.Client, url string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	answer, err := client.Do(req)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, answer.Body)
	return errors.Join(err, answer.Body.Close())
}

// wait goes on until the test that started this process has gone.
func wait() {
	parent := os.Getppid()
	for os.Getppid() == parent {
		time.Sleep(time.Second)
	}
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
}
