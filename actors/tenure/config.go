package tenure

import (
	"github.com/asynkron/protoactor-go/actor"

	"leasehold/actors/poller"
	"leasehold/actors/tree"
)

// Change is what happens to a tenure.
type Change int

// The changes. A tenure begins with Acquired and ends with Ended.
const (
	Acquired  Change = iota // the lease is ours
	Uncertain               // a renewal had no answer: nothing new may start
	Certain                 // renewals go well again
	Ended                   // the context has ended, and so has the poller
)

// Watcher hears of tenures. Its methods may be called from any goroutine.
type Watcher interface {
	// Open is called first, on the actor's goroutine: it must not block.
	Open(t *Tenure)
	// Tell is called beside the actor, for one change after the other. The lease is
	// not given back before it has returned from Ended.
	Tell(t *Tenure, c Change)
	// Close is called last. It must not block.
	Close(t *Tenure)
}

// Config is what tenures need.
type Config struct {
	Watcher Watcher
	// Opened is called once the watcher knows the tenure, on the actor's goroutine.
	// It may be nil.
	Opened func(t *Tenure)
	// Poller makes the props of the poller below. It may be nil.
	Poller func(poller.Config) *actor.Props
	Report func(tree.Failure)
}

// Maker returns what makes the props of a tenure, for one spawn each. It fits
// leaseholder.Deps.Poller.
func Maker(cfg Config) func(poller.Config) *actor.Props {
	kind := tree.NewKind(cfg.Report)
	return func(p poller.Config) *actor.Props { return kind.Props(&tenureActor{cfg: &cfg, poller: p}) }
}
