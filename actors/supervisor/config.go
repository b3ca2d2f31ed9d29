package supervisor

import (
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"leasehold/actors/tree"
)

// Config is what a supervisor needs.
type Config struct {
	System *actor.ActorSystem
	// Renewer and Membership make the props of the pair, anew each time.
	Renewer    func() *actor.Props
	Membership func(renewer *actor.PID) *actor.Props
	// MaxFailures is how many failures within Window end the node.
	MaxFailures int
	Window      time.Duration
	Report      func(tree.Failure)
}

const (
	defaultMaxFailures = 5
	defaultWindow      = time.Minute

	// firstPause and mostPause bound the growing wait before a new pair.
	firstPause = 100 * time.Millisecond
	mostPause  = 5 * time.Second
)
