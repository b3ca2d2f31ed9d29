package nodetest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2/server"
	"github.com/onsi/gomega"
	"github.com/redis/go-redis/v9"

	"leasehold/eventlog"
	"leasehold/internal/bubble"
	"leasehold/internal/redistest"
	"leasehold/redisevents/emulator"
	"leasehold/rediskey"
)

// Fleet is any number of nodes on one in-memory Redis. Use it in a bubble, on the
// spec's goroutine, and Stop it at the end.
type Fleet struct {
	G      gomega.Gomega
	Mini   *redistest.Mini
	Events *emulator.Emulator
	Target *Target
	Client *redis.Client // a link that never fails

	options Options
	polls   sync.WaitGroup
	members []*Member
	started int

	mu    sync.Mutex
	hooks []server.Hook
}

// OwnClient is the name of the fleet's own client among the server's peers, so that
// a hook can tell it from the nodes'.
const OwnClient = "spec"

// New returns a fleet without nodes.
func New(g gomega.Gomega, change ...func(*Options)) *Fleet {
	o := Options{LogLevel: eventlog.Debug}
	for _, c := range change {
		c(&o)
	}
	m := redistest.NewMini()
	f := &Fleet{G: g, Mini: m, Target: NewTarget(), options: o}
	e, err := emulator.Start(m.Miniredis, emulator.Options{
		Next: f.hook, Last: m.Hook, Publish: m.Publish, Sweep: o.Sweep, Lazy: true,
	})
	g.Expect(err).NotTo(gomega.HaveOccurred())
	f.Events = e
	m.OnTimes(e.Advance)
	f.Client = m.Client(func(o *redis.Options) {
		o.ClientName = OwnClient
		o.ConnMaxIdleTime = -1 // a new connection would have no name at first
	})
	return f
}

// Hook has each command, those of scripts included, shown to h before it takes
// effect; what runs in scripts comes with the server's lock held. The hooks are
// asked in the order in which they came, until one returns true: it has answered.
func (f *Fleet) Hook(h server.Hook) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.hooks = append(slices.Clip(f.hooks), h)
}

func (f *Fleet) hook(c *server.Peer, cmd string, args ...string) bool {
	f.mu.Lock()
	hooks := f.hooks
	f.mu.Unlock()
	for _, h := range hooks {
		if h(c, cmd, args...) {
			return true
		}
	}
	return false
}

// Stop ends all nodes and the Redis.
func (f *Fleet) Stop() {
	for _, m := range f.members {
		m.Kill()
		<-m.closed
	}
	_ = f.Client.Close()
	f.Events.Close()
	f.Mini.Close()
	f.polls.Wait()          // the target has an end for each
	bubble.Sleep(time.Hour) // timers of actors that have gone may still ring
	bubble.Settle()
}

// Members returns all nodes that were ever started.
func (f *Fleet) Members() []*Member { return f.members }

// Put stores a session document.
func (f *Fleet) Put(id, doc string) {
	f.G.Expect(f.Client.Set(context.Background(), "session:"+id, doc, 0).Err()).To(gomega.Succeed())
}

// PutMany stores n sessions, s0 and so on, of one interval.
func (f *Fleet) PutMany(n int, interval time.Duration) {
	for i := range n {
		f.Put(fmt.Sprintf("s%d", i), fmt.Sprintf(`{"url":"http://192.0.2.1/","interval":%q}`, interval))
	}
}

// Remove deletes a session document.
func (f *Fleet) Remove(id string) {
	f.G.Expect(f.Client.Del(context.Background(), "session:"+id).Err()).To(gomega.Succeed())
}

// Owners returns the holder of each lease.
func (f *Fleet) Owners() map[string]string {
	ctx := context.Background()
	owners := map[string]string{}
	keys, err := f.Client.Keys(ctx, "poll:lease:*").Result()
	f.G.Expect(err).NotTo(gomega.HaveOccurred())
	for _, key := range keys {
		if holder, err := f.Client.Get(ctx, key).Result(); err == nil {
			owners[strings.TrimPrefix(key, "poll:lease:")] = holder
		}
	}
	return owners
}

// Loads returns how many leases each instance holds.
func (f *Fleet) Loads() map[string]int {
	loads := map[string]int{}
	for _, holder := range f.Owners() {
		loads[holder]++
	}
	return loads
}

// Tokens returns the fencing token of each leased session.
func (f *Fleet) Tokens() map[string]string {
	tokens := map[string]string{}
	for id := range f.Owners() {
		tokens[id] = f.Mini.HGet(rediskey.Default().State(id), "version")
	}
	return tokens
}
