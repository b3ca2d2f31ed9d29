package demo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"leasehold/target"
)

const (
	tick        = 100 * time.Millisecond
	statusPace  = 5 * time.Second
	startLimit  = 30 * time.Second
	drainLimit  = drain + 3*time.Second // then the nodes are killed
	cleanLimit  = 10 * time.Second
	reportQueue = 1024
)

// fleet is a demo at work. All its fields belong to one goroutine.
type fleet struct {
	// Set once.
	cfg     Config
	redis   *backend
	target  *target.Target
	server  *target.Server
	polls   *polls
	nodes   []*process
	reports chan report

	digest *digest
	// held are lines for when all nodes are ready.
	held     []string
	ready    bool
	draining bool
	begun    time.Time // when all were ready
	failure  error     // of a node
	resumed  int       // sessions of lost nodes that were polled again
}

// Run shows a fleet until stop is closed, c.Duration has passed or no node is left,
// and then ends it in order. When ctx ends, it ends the nodes at once. Its error says
// what went wrong in the fleet or why there was none: two polls of one session at
// once, a node that failed.
func Run(ctx context.Context, stop <-chan struct{}, c Config) error {
	if err := c.Validate(); err != nil {
		return err
	}
	f := &fleet{cfg: c, polls: newPolls(), digest: newDigest(), reports: make(chan report, reportQueue)}
	if err := f.open(ctx); err != nil {
		return errors.Join(err, f.close(ctx))
	}
	f.start(ctx)
	f.watch(ctx, stop)
	f.stop()
	if f.ready {
		f.summary()
	}
	return errors.Join(f.failure, f.close(ctx), f.verdict())
}

// open makes all that the nodes need.
func (f *fleet) open(ctx context.Context) (err error) {
	if f.cfg.Redis == nil {
		f.redis, err = embedded(f.cfg.Sessions)
	} else {
		f.redis = borrowed(ctx, f.cfg.Redis)
	}
	if err != nil {
		return err
	}
	f.target = target.New(target.Options{Log: f.polls})
	if f.server, err = target.Serve(context.WithoutCancel(ctx), "127.0.0.1:0", f.target); err != nil {
		return err
	}
	return f.redis.writeDocuments(ctx, f.cfg.Sessions, f.server.URL)
}

// close ends the target and leaves Redis as it was.
func (f *fleet) close(ctx context.Context) error {
	if f.server != nil {
		_ = f.server.Close() // it was for the nodes, which are gone
	}
	if f.redis == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanLimit)
	defer cancel()
	var instances []string
	for _, p := range f.nodes {
		if p.instance != "" {
			instances = append(instances, p.instance)
		}
	}
	return f.redis.close(ctx, f.cfg.Sessions, instances)
}

// start starts all nodes at once.
func (f *fleet) start(ctx context.Context) {
	f.header()
	for n := range f.cfg.Nodes {
		name := fmt.Sprintf("node-%d", n+1)
		p := newProcess(ctx, f.cfg.Program, name, nodeEnviron(f.cfg.Environ, f.redis, name))
		f.nodes = append(f.nodes, p)
		go p.run(f.reports)
	}
}

// watch follows the fleet until there is a reason to end.
func (f *fleet) watch(ctx context.Context, stop <-chan struct{}) {
	ticks := time.NewTicker(tick)
	defer ticks.Stop()
	begun := time.Now()
	nextStatus, nextDocuments := statusPace, documentRenew
	for {
		select {
		case <-ctx.Done():
			return
		case <-stop:
			return
		case r := <-f.reports:
			f.take(ctx, r)
		case now := <-ticks.C:
			f.tell(f.digest.due(now)...)
			f.tellOver()
			if !f.ready && now.Sub(begun) > startLimit {
				f.failure = errors.Join(f.failure, fmt.Errorf("not all nodes were ready within %s", startLimit))
			}
			if f.ready && now.Sub(f.begun) >= nextStatus {
				nextStatus += statusPace
				f.status(ctx)
			}
			if !f.redis.own && now.Sub(begun) >= nextDocuments {
				nextDocuments += documentRenew
				f.renewDocuments(ctx)
			}
		}
		if f.over() {
			return
		}
	}
}

// over reports whether the demo has a reason of its own to end.
func (f *fleet) over() bool {
	switch {
	case !f.ready:
		return f.failure != nil
	case f.cfg.Duration > 0 && time.Since(f.begun) >= f.cfg.Duration:
		return true
	case f.alive() == 0:
		f.flush()
		f.say("no node is left")
		return true
	default:
		return false
	}
}

func (f *fleet) alive() int {
	n := 0
	for _, p := range f.nodes {
		if !p.ended {
			n++
		}
	}
	return n
}

func (f *fleet) renewDocuments(ctx context.Context) {
	if err := f.redis.writeDocuments(ctx, f.cfg.Sessions, f.server.URL); err != nil {
		f.tell(err.Error())
	}
}

// stop asks all nodes to drain, waits for them, and kills those that do not end.
func (f *fleet) stop() {
	f.flush()
	if n := f.alive(); n > 0 && f.ready {
		f.say("stopping " + plural(n, "node"))
	}
	f.draining = true
	for _, p := range f.nodes {
		if p.pid != 0 && !p.ended {
			askToStop(p.command.Process)
		}
	}
	limit := time.NewTimer(drainLimit)
	defer limit.Stop()
	for f.alive() > 0 {
		select {
		case r := <-f.reports:
			f.takeLast(r)
		case <-limit.C:
			for _, p := range f.nodes {
				if p.pid != 0 && !p.ended {
					f.say(fmt.Sprintf("%s (pid %d) did not end within %s and is killed", p.name, p.pid, whole(drainLimit)))
					_ = p.command.Process.Kill() // an error says that it has just ended
				}
			}
		}
	}
}
