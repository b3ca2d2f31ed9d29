package renewer_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"leasehold/actors/renewer"
	"leasehold/internal/actortest"
	"leasehold/internal/bubble"
	"leasehold/lease"
	"leasehold/lease/cell"
)

const (
	ttl      = 30 * time.Second
	interval = 10 * time.Second
	margin   = 2 * time.Second
	trust    = ttl - margin
)

var errRedis = errors.New("no answer from Redis")

// call is one call that the store got.
type call struct {
	at       time.Duration // since the spec began
	what     string
	sessions []string
	ttl      time.Duration
}

// stub is a store whose answers a spec plans.
type stub struct {
	lease.Store

	began time.Time
	mu    sync.Mutex
	calls []call
	ttls  map[string]time.Duration // as last asked for, by session
	busy  map[string]time.Duration // as last told, by session
	// renew answers one grant, after the call took so long.
	renew   func(g lease.Grant) error
	delay   func(grants []lease.Grant) time.Duration
	release func(r lease.Release) error
	place   func(session string) string
}

// Place implements lease.Placer.
func (s *stub) Place(_ context.Context, session string) string { return s.place(session) }

func (s *stub) plan(change func(s *stub)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(s)
}

func (s *stub) note(what string, sessions []string, ttl time.Duration) {
	slices.Sort(sessions)
	s.calls = append(s.calls, call{at: time.Since(s.began), what: what, sessions: sessions, ttl: ttl})
}

// Renew counts as of the longest TTL that is asked for.
func (s *stub) Renew(ctx context.Context, renewals []lease.Renewal) []lease.Verdict {
	s.mu.Lock()
	var sessions []string
	var grants []lease.Grant
	var ttl time.Duration
	for _, r := range renewals {
		sessions, grants = append(sessions, r.Session), append(grants, r.Grant)
		ttl = max(ttl, r.TTL)
		s.ttls[r.Session], s.busy[r.Session] = r.TTL, r.Busy
	}
	s.note("renew", sessions, ttl)
	renew, delay := s.renew, s.delay
	s.mu.Unlock()

	verdicts := make([]lease.Verdict, len(grants))
	select {
	case <-time.After(delay(grants)):
	case <-ctx.Done():
		for i := range verdicts {
			verdicts[i].Err = ctx.Err()
		}
		return verdicts
	}
	for i, g := range grants {
		verdicts[i].Err = renew(g)
	}
	return verdicts
}

func (s *stub) Release(_ context.Context, releases []lease.Release) []error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var sessions []string
	errs := make([]error, len(releases))
	for i, r := range releases {
		sessions = append(sessions, r.Session)
		errs[i] = s.release(r)
	}
	s.note("release", sessions, 0)
	return errs
}

func (s *stub) Beat(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.note("beat", nil, 0)
	return nil
}

// see returns the calls of one kind so far.
func (s *stub) see(what string) []call {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []call
	for _, c := range s.calls {
		if c.what == what {
			found = append(found, c)
		}
	}
	return found
}

func (s *stub) times(what string) []time.Duration {
	var at []time.Duration
	for _, c := range s.see(what) {
		at = append(at, c.at)
	}
	return at
}

// bench is a renewer under a spec.
type bench struct {
	system         *actortest.System
	parent, holder *actortest.Probe
	stub           *stub
	cfg            renewer.Config
	pid            *actor.PID
}

func run(f func(g Gomega, b *bench), change ...func(*renewer.Config)) {
	GinkgoHelper()
	bubble.Run(func(g Gomega) {
		b := &bench{system: actortest.NewSystem(), stub: &stub{
			began:   time.Now(),
			ttls:    map[string]time.Duration{},
			busy:    map[string]time.Duration{},
			renew:   func(lease.Grant) error { return nil },
			delay:   func([]lease.Grant) time.Duration { return 0 },
			release: func(lease.Release) error { return nil },
			place:   func(string) string { return "" },
		}}
		ctx, cancel := context.WithCancel(context.Background())
		b.parent, b.holder = b.system.NewProbe(nil), b.system.NewProbe(nil)
		b.cfg = renewer.Config{
			Context: ctx, Store: b.stub, Beat: b.stub.Beat, TTL: ttl, Interval: interval, Margin: margin,
			Log: b.system.Log, Report: b.system.Report,
		}
		for _, c := range change {
			c(&b.cfg)
		}
		b.pid = b.parent.Spawn(renewer.Props(b.cfg), "renewer")
		defer func() {
			b.parent.Stop()
			cancel()
			b.system.Close()
		}()
		f(g, b)
	})
}

func (b *bench) tell(m any) { b.system.Root.Send(b.pid, m) }

func grant(id string) lease.Grant { return lease.Grant{Session: id, Holder: "n1", Token: 7} }

// track has a lease renewed that was acquired now with the TTL.
func (b *bench) track(id string, ttl time.Duration) *cell.Cell {
	c := cell.New(context.Background(), lease.NewTerm(grant(id), time.Now(), ttl, renewer.Margin(ttl, b.cfg.TTL, margin)))
	b.retrack(c, ttl)
	return c
}

func (b *bench) retrack(c *cell.Cell, ttl time.Duration) {
	b.tell(&renewer.Track{Cell: c, TTL: ttl, Holder: b.holder.Mailbox()})
}

func (b *bench) releaseOne(id string, giveUp time.Time) {
	b.tell(&renewer.Release{Release: lease.Release{Grant: grant(id)}, ReplyTo: b.holder.Mailbox(), GiveUp: giveUp})
}

func ms(n ...int) []time.Duration {
	var d []time.Duration
	for _, v := range n {
		d = append(d, time.Duration(v)*time.Millisecond)
	}
	return d
}

func cause(c *cell.Cell) error { return context.Cause(c.Context()) }
