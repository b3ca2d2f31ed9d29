package redisstore

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"leasehold/lease"
)

// call is one run of a script, and its answer.
type call struct {
	script *redis.Script // nil: INFO server
	keys   []string
	args   []any

	reply any
	err   error
}

// exec runs the calls, all of keys of one server, in one pipeline and in order. Where
// the server does not know a script all of them are loaded, and only the calls that missed
// theirs are repeated.
func (s *Store) exec(ctx context.Context, calls []*call) {
	s.pipeline(ctx, calls)
	again := missed(calls)
	if len(again) == 0 {
		return
	}
	if err := s.load(ctx, again[0].keys[0]); err != nil {
		fail(again, fmt.Errorf("load scripts: %w", err))

		return
	}
	// Who answers is asked again too: it may be another by now.
	s.pipeline(ctx, append(questions(calls), again...))
	if again = missed(again); s.cluster && len(again) > 0 {
		// Their slot is on its way to another master, which has answered.
		s.loadEverywhere(ctx)
		s.pipeline(ctx, again)
	}
}

// missed returns the calls whose scripts the server does not know.
func missed(calls []*call) []*call {
	var again []*call
	for _, c := range calls {
		if c.script != nil && redis.HasErrorPrefix(c.err, "NOSCRIPT") {
			again = append(again, c)
		}
	}

	return again
}

// questions returns the calls that ask who answers.
func questions(calls []*call) []*call {
	var who []*call
	for _, c := range calls {
		if c.script == nil {
			who = append(who, c)
		}
	}

	return who
}

// load loads the scripts on the server of the key.
func (s *Store) load(ctx context.Context, key string) error {
	cc, ok := s.client.(*redis.ClusterClient)
	if !ok {
		return s.scripts.load(ctx, s.client)
	}
	master, err := cc.MasterForKey(ctx, key)
	if err != nil {
		return err
	}

	return s.scripts.load(ctx, master)
}

func (s *Store) pipeline(ctx context.Context, calls []*call) {
	p := s.client.Pipeline()
	cmds := make([]*redis.Cmd, len(calls))
	for i, c := range calls {
		if c.script == nil {
			cmds[i] = p.Do(ctx, "INFO", "server")

			continue
		}
		cmds[i] = p.EvalSha(ctx, c.script.Hash(), c.keys, c.args...)
	}
	_, err := p.Exec(ctx)
	for i, cmd := range cmds {
		calls[i].reply, calls[i].err = cmd.Result()
		// A command that was never answered must not pass for one that was.
		if calls[i].err == nil && calls[i].reply == nil {
			calls[i].err = errors.Join(errNoReply, err)
		}
	}
}

var errNoReply = errors.New("no reply")

func errsOf(calls []*call) []error {
	errs := make([]error, len(calls))
	for i, c := range calls {
		errs[i] = c.err
	}

	return errs
}

func fail(calls []*call, err error) {
	for _, c := range calls {
		c.err = err
	}
}

// chunks calls f for pieces of n things, a few at a time, each piece within the
// timeout. When a piece runs out of time the server hangs, and the rest gets a
// context that has ended.
func (s *Store) chunks(ctx context.Context, n int, f func(ctx context.Context, from, to int) error) {
	if n == 0 {
		return
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var g errgroup.Group
	g.SetLimit(flightLimit)
	for from := 0; from < n; from += s.opts.BatchSize {
		to := min(from+s.opts.BatchSize, n)
		g.Go(func() error {
			bounded, cancel := s.bound(ctx)
			defer cancel()
			if timedOut(f(bounded, from, to)) {
				stop(errHangs)
			}

			return nil
		})
	}
	_ = g.Wait()
}

var errHangs = errors.New("an earlier part of the batch got no answer in time")

func timedOut(err error) bool {
	var e net.Error

	return errors.Is(err, context.DeadlineExceeded) || errors.As(err, &e) && e.Timeout()
}

func (s *Store) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, s.opts.Timeout)
}

// run sends one call, or in a cluster one call per lease, for the leases from to.
// Build makes the call of a range; read gets the answers of one. The error is that
// of the calls, which read has seen already. The others go along, on the same
// connection, whatever becomes of them.
func (s *Store) run(
	ctx context.Context, from, to int, build func(from, to int) *call, read func(c *call, from, to int), others ...*call,
) error {
	step := to - from
	if s.cluster { // the leases of one call must share a slot
		step = 1
	}
	var calls []*call
	for i := from; i < to; i += step {
		calls = append(calls, build(i, i+step))
	}
	s.exec(ctx, append(others, calls...))
	for i, c := range calls {
		read(c, from+i*step, from+(i+1)*step)
	}

	return errors.Join(errsOf(calls)...)
}

// leaseKeys returns the two keys of a session as the scripts want them.
func (s *Store) leaseKeys(id string) (leaseKey, stateKey string) {
	return s.keys.Lease(id), s.keys.State(id)
}

// list returns the answer as a list of n, or why it is not one.
func (c *call) list(n int) ([]any, error) {
	if c.err != nil {
		return nil, c.err
	}
	l, ok := c.reply.([]any)
	if !ok || len(l) < n {
		return nil, fmt.Errorf("unexpected reply %T", c.reply)
	}

	return l, nil
}

// wrapper says what was tried, once for all leases of a chunk.
func wrapper(what string) func(error) error {
	var once sync.Once
	var wrapped error

	return func(err error) error {
		once.Do(func() { wrapped = fmt.Errorf("%s: %w", what, err) })

		return wrapped
	}
}

func foreign(key string) error {
	return fmt.Errorf("%w: %q", lease.ErrForeign, key)
}

// strange is what the scripts say of a key of another type: which of a session's two it is.
func (s *Store) strange(session string, code int64) error {
	if code == strangeState {
		return foreign(s.keys.State(session))
	}

	return foreign(s.keys.Lease(session))
}

const strangeState = -2
