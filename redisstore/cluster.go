package redisstore

import (
	"context"
	"sync"

	"github.com/redis/go-redis/v9"
)

// What lies on one master of a cluster is asked for apart from all else: a master that
// hangs costs its own keys alone. go-redis would have a pipeline over all of them wait for
// the slowest, and then take what the others answered for unanswered too.

// nowhere is the place of keys whose master is not known.
const nowhere = ""

// place returns the address of the master that a key lies on, as far as the client knows.
// Where that is out of date the client is redirected. Only a client that has not seen the
// cluster yet asks for it.
func (s *Store) place(ctx context.Context, key string) string {
	cc, ok := s.client.(*redis.ClusterClient)
	if !ok {
		return nowhere
	}
	master, err := cc.MasterForKey(ctx, key)
	if err != nil {
		return nowhere
	}

	return master.Options().Addr
}

// Place tells sessions apart whose leases lie on different masters: see [lease.Placer].
func (s *Store) Place(ctx context.Context, id string) string {
	return s.knownPlace(ctx, s.keys.Lease(id))
}

// DocumentPlace tells documents apart that lie on different masters: see [session.Placer].
func (s *Store) DocumentPlace(ctx context.Context, id string) string {
	return s.knownPlace(ctx, s.keys.Session(id))
}

func (s *Store) knownPlace(ctx context.Context, key string) string {
	if !s.cluster {
		return nowhere
	}

	ctx, cancel := context.WithCancel(ctx)
	cancel() // it asks nobody: the first calls have made the cluster known

	return s.place(ctx, key)
}

// groups returns the positions of n keys, those of each master together.
func (s *Store) groups(ctx context.Context, n int, key func(i int) string) [][]int {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	at := map[string]int{}
	var groups [][]int
	for i := range n {
		place := s.place(ctx, key(i))
		g, known := at[place]
		if !known {
			g = len(groups)
			at[place] = g
			groups = append(groups, nil)
		}
		groups[g] = append(groups[g], i)
	}

	return groups
}

// apart has f answer the questions, in a cluster those of each master by themselves, and
// returns the answers in their order.
func apart[Q, A any](
	ctx context.Context, s *Store, questions []Q, key func(*Store, Q) string, f func(*Store, context.Context, []Q) []A,
) []A {
	if !s.cluster {
		return f(s, ctx, questions)
	}
	groups := s.groups(ctx, len(questions), func(i int) string { return key(s, questions[i]) })
	if len(groups) == 1 {
		return f(s, ctx, questions)
	}
	out := make([]A, len(questions))
	var wg sync.WaitGroup
	for _, group := range groups {
		wg.Go(func() {
			part := make([]Q, len(group))
			for i, at := range group {
				part[i] = questions[at]
			}
			for i, answer := range f(s, ctx, part) {
				out[group[i]] = answer
			}
		})
	}
	wg.Wait()

	return out
}

// pipelines sends the commands that queue adds for each of n keys: in one pipeline, in a
// cluster in one for each master. Each command has its own error.
func (s *Store) pipelines(ctx context.Context, n int, key func(i int) string, queue func(p redis.Pipeliner, i int)) {
	if !s.cluster {
		p := s.client.Pipeline()
		for i := range n {
			queue(p, i)
		}
		_, _ = p.Exec(ctx)

		return
	}
	var wg sync.WaitGroup
	for _, group := range s.groups(ctx, n, key) {
		p := s.client.Pipeline()
		for _, i := range group {
			queue(p, i)
		}
		wg.Go(func() { _, _ = p.Exec(ctx) })
	}
	wg.Wait()
}

// loadEverywhere loads the scripts on all masters that answer in good time.
func (s *Store) loadEverywhere(ctx context.Context) {
	cc, ok := s.client.(*redis.ClusterClient)
	if !ok {
		return
	}
	masters, err := mastersOf(ctx, cc)
	if err != nil {
		return // the calls say so again
	}
	ctx, cancel := context.WithTimeout(ctx, s.opts.Timeout/4)
	defer cancel()
	var wg sync.WaitGroup
	for _, master := range masters {
		wg.Go(func() { _ = s.scripts.load(ctx, master) })
	}
	wg.Wait()
}

// lanes has a batcher for each master: flights that wait for one keep no place from those
// to the others. There are as many as there were addresses.
type lanes struct {
	mu sync.Mutex
	of map[string]*batcher
}

// lane returns the batcher that a call goes by.
func (s *Store) lane(ctx context.Context, c *call) *batcher {
	if !s.cluster {
		return s.polls
	}
	ctx, cancel := s.bound(ctx)
	defer cancel()
	place := s.place(ctx, c.keys[0])
	s.lanes.mu.Lock()
	defer s.lanes.mu.Unlock()
	b, known := s.lanes.of[place]
	if !known {
		b = s.newBatcher()
		s.lanes.of[place] = b
	}

	return b
}
