package tree

import (
	"fmt"
	"runtime/debug"
	"sync" //nolint:depguard // parents make actors of one kind at the same time

	"github.com/asynkron/protoactor-go/actor"
)

// Failure is a panic in an actor.
type Failure struct {
	Actor  string
	During string // the type of the message, never its content
	Reason string
	Stack  string
}

// Props returns the props of an actor that obeys the rules of this package, and answers
// a [Beat] by itself.
// report may be nil; it must not block.
func Props(produce actor.Producer, report func(Failure)) *actor.Props {
	return actor.PropsFromProducer(
		func() actor.Actor { return &guarded{actor: produce(), report: report} },
		actor.WithSupervisor(actor.NewOneForOneStrategy(0, 0, stop)),
		actor.WithMailbox(newMailbox),
	)
}

// AsRoot makes an actor without parent stop when it fails.
func AsRoot(props *actor.Props) *actor.Props {
	return props.Clone(actor.WithGuardian(actor.NewOneForOneStrategy(0, 0, stop)))
}

func stop(any) actor.Directive { return actor.StopDirective }

// Kind is actors of one sort, of which there are many: what the library keeps of the
// making of each is kept once. It may be used from any goroutine.
type Kind struct {
	props *actor.Props

	mu   sync.Mutex
	next actor.Actor // whose spawning is under way
}

// NewKind returns a kind whose actors obey the rules of this package, as those of
// [Props] do.
func NewKind(report func(Failure)) *Kind {
	k := &Kind{}
	k.props = Props(func() actor.Actor { return k.next }, report)
	return k
}

// Props returns the props of an actor. They are good for one spawn.
func (k *Kind) Props(a actor.Actor) *actor.Props {
	spawn := func(system *actor.ActorSystem, id string, _ *actor.Props, parent actor.SpawnerContext) (*actor.PID, error) {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.next = a
		defer func() { k.next = nil }()
		return actor.DefaultSpawner(system, id, k.props, parent) // asks for the actor at once
	}
	return actor.PropsFromProducer(nil, actor.WithSpawnFunc(spawn))
}

// guarded is an actor whose panics are reported. Those of life-cycle handlers, where the
// library would lose track of the actor, end here; others reach the supervisor. An
// actor that fails over the end of a child fails like any other: it is stopped.
type guarded struct {
	actor  actor.Actor
	report func(Failure)
}

// Receive implements actor.Actor.
func (g *guarded) Receive(c actor.Context) {
	defer g.recover(c)
	hold(c.ActorSystem())
	if b, ok := c.Message().(*Beat); ok {
		b.Heard()
		return
	}
	g.actor.Receive(c)
}

// recover is deferred.
func (g *guarded) recover(c actor.Context) {
	r := recover()
	if r == nil {
		return
	}
	if g.report != nil {
		g.report(Failure{
			Actor:  c.Self().GetId(),
			During: fmt.Sprintf("%T", c.Message()),
			Reason: fmt.Sprint(r),
			Stack:  string(debug.Stack()),
		})
	}
	if !ending(c.Message()) {
		panic(r)
	}
	if _, ok := c.Message().(*actor.Terminated); ok {
		c.ActorSystem().Root.Stop(c.Self()) // does nothing to one that is stopping
	}
}

func ending(message any) bool {
	switch message.(type) {
	case *actor.Stopping, *actor.Stopped, *actor.Restarting, *actor.Terminated:
		return true
	default:
		return false
	}
}
