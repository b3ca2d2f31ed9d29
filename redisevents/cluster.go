package redisevents

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// masters watches each master of a cluster: a master announces only its own keys.
type masters struct {
	l      *Listener
	client *redis.ClusterClient
	ended  chan error // the errors of watches that gave up

	watches map[string]context.CancelFunc // by address
	found   bool                          // the first topology was read
	group   sync.WaitGroup
}

// runCluster follows the topology until the context ends or a watch gives up.
func (l *Listener) runCluster(ctx context.Context, client *redis.ClusterClient) error {
	ctx, cancel := context.WithCancel(ctx)
	m := &masters{
		l: l, client: client, ended: make(chan error, 1),
		watches: map[string]context.CancelFunc{},
	}
	defer m.group.Wait()
	defer cancel()
	tick := time.NewTicker(l.cfg.Topology)
	defer tick.Stop()
	for {
		m.follow(ctx)
		select {
		case <-ctx.Done():
			return nil
		case err := <-m.ended:
			return err
		case <-tick.C:
			// The client's own reload may be a minute away, and a refused connection
			// does not hasten it.
			client.ReloadState(ctx)
		}
	}
}

// follow starts a watch for each new master and ends those of former ones. A
// topology that cannot be read changes nothing.
func (m *masters) follow(ctx context.Context) {
	now, err := m.list(ctx)
	if err != nil || len(now) == 0 {
		return
	}
	for addr, stop := range m.watches {
		if _, still := now[addr]; !still {
			stop()
			delete(m.watches, addr)
		}
	}
	var fresh []*watch // all count before the first one listens
	for addr, options := range now {
		if _, known := m.watches[addr]; !known {
			fresh = append(fresh, m.l.newWatch(options, m.found))
		}
	}
	for _, w := range fresh {
		m.start(ctx, w)
	}
	m.found = true
}

// list reads the present masters and the options that reach them.
func (m *masters) list(ctx context.Context) (map[string]*redis.Options, error) {
	ctx, cancel := context.WithTimeout(ctx, m.l.cfg.Call)
	defer cancel()
	var mu sync.Mutex
	now := map[string]*redis.Options{}
	err := m.client.ForEachMaster(ctx, func(_ context.Context, c *redis.Client) error {
		mu.Lock()
		defer mu.Unlock()
		o := c.Options()
		now[o.Addr] = o
		return nil
	})
	return now, err
}

// start watches one master. One that joins later took slots over: what it lost of
// them nobody knows, so its first Gap says Restarted.
func (m *masters) start(ctx context.Context, w *watch) {
	ctx, cancel := context.WithCancel(ctx)
	m.watches[w.options.Addr] = cancel
	m.group.Go(func() {
		defer cancel()
		err := w.keep(ctx)
		if err != nil && !errors.Is(err, context.Canceled) {
			select {
			case m.ended <- err:
			default:
			}
		}
	})
}
