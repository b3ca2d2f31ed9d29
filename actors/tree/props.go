package tree

import (
	"fmt"
	"runtime/debug"

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
	return actor.PropsFromProducer(produce,
		actor.WithSupervisor(actor.NewOneForOneStrategy(0, 0, stop)),
		actor.WithReceiverMiddleware(guard(report)),
	)
}

// AsRoot makes an actor without parent stop when it fails.
func AsRoot(props *actor.Props) *actor.Props {
	return props.Clone(actor.WithGuardian(actor.NewOneForOneStrategy(0, 0, stop)))
}

func stop(any) actor.Directive { return actor.StopDirective }

// guard reports panics. It swallows those of life-cycle handlers, where the
// library would lose track of the actor, and lets others reach the supervisor. An
// actor that fails over the end of a child fails like any other: it is stopped.
func guard(report func(Failure)) actor.ReceiverMiddleware {
	return func(next actor.ReceiverFunc) actor.ReceiverFunc {
		return func(c actor.ReceiverContext, envelope *actor.MessageEnvelope) {
			defer func() {
				r := recover()
				if r == nil {
					return
				}
				if report != nil {
					report(Failure{
						Actor:  c.Self().GetId(),
						During: fmt.Sprintf("%T", envelope.Message),
						Reason: fmt.Sprint(r),
						Stack:  string(debug.Stack()),
					})
				}
				if !ending(envelope.Message) {
					panic(r)
				}
				if _, ok := envelope.Message.(*actor.Terminated); ok {
					c.ActorSystem().Root.Stop(c.Self()) // does nothing to one that is stopping
				}
			}()
			hold(c.ActorSystem())
			if b, ok := envelope.Message.(*Beat); ok {
				b.Heard()
				return
			}
			next(c, envelope)
		}
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
