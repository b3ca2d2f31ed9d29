package supervisor

import (
	"context"
	"errors"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"leasehold/actors/membership"
	"leasehold/actors/tree"
)

// ErrTooManyFailures ends a node whose actors keep failing.
var ErrTooManyFailures = errors.New("the node's actors keep failing")

// ErrIncomplete says that a drain ended by a failure, or found the pair failed, so
// that leases may be left to their TTL.
var ErrIncomplete = errors.New("the drain was cut short by a failure")

// Running is a started tree. Its methods may be called from any goroutine.
type Running struct {
	root   *actor.RootContext
	pid    *actor.PID
	failed chan error
	ended  chan error
	over   chan struct{} // closed when a drain has ended it
}

// Start makes the supervisor, and with it the pair.
func Start(cfg Config) (*Running, error) {
	if cfg.MaxFailures <= 0 {
		cfg.MaxFailures = defaultMaxFailures
	}
	if cfg.Window <= 0 {
		cfg.Window = defaultWindow
	}
	r := &Running{
		root:   cfg.System.Root,
		failed: make(chan error, 1),
		ended:  make(chan error, 1),
		over:   make(chan struct{}),
	}
	props := tree.AsRoot(tree.Props(func() actor.Actor {
		return &supervisorActor{cfg: cfg, failed: r.failed, ended: r.ended}
	}, cfg.Report))
	pid, err := cfg.System.Root.SpawnNamed(props, "supervisor")
	if err != nil {
		return nil, err
	}
	r.pid = pid
	return r, nil
}

// Tell passes a message to the membership actor, whichever is the present one.
func (r *Running) Tell(m membership.Message) { r.root.Send(r.pid, m) }

// Probe asks the pair whether it still handles messages: each calls its function when it
// has come to the question. The functions must not block.
func (r *Running) Probe(renewer, deciding func()) {
	r.root.Send(r.pid, &probe{renewer: renewer, membership: deciding})
}

// Failed delivers the reason when the node can't go on.
func (r *Running) Failed() <-chan error { return r.failed }

// Drain hands all leases back and stops the tree. Polls in flight may end by
// themselves for grace, and are canceled then. It returns nil when no lease is
// held any more, ErrIncomplete, or the error of ctx. It is called once.
func (r *Running) Drain(ctx context.Context, grace time.Duration) error {
	r.root.Send(r.pid, &membership.Drain{})
	abort := time.NewTimer(grace)
	defer abort.Stop()
	for {
		select {
		case err := <-r.ended:
			close(r.over)
			return err
		case <-abort.C:
			r.root.Send(r.pid, &membership.Abort{})
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Kill stops the tree without handing anything back, if it has not ended by itself.
// It does not wait.
func (r *Running) Kill() {
	select {
	case <-r.over:
	default:
		r.root.Send(r.pid, &kill{})
	}
}
