package tree

import (
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// Mailbox is an actor's address, safe to keep and to use from any goroutine.
type Mailbox struct {
	root *actor.RootContext
	pid  *actor.PID
}

// Self returns the address of the actor that is handling a message.
func Self(c actor.Context) Mailbox {
	return Mailbox{root: c.ActorSystem().Root, pid: c.Self()}
}

// Send puts a message into the mailbox. To an actor that has gone it does
// nothing but leave a dead letter.
func (m Mailbox) Send(message any) { m.root.Send(m.pid, message) }

// After sends a message in d. Stopping the timer does not recall one that is
// already in the mailbox.
func (m Mailbox) After(d time.Duration, message any) *time.Timer {
	return time.AfterFunc(d, func() { m.root.Send(m.pid, message) })
}

// Beat asks an actor of the tree whether it still handles messages: see [Props].
type Beat struct {
	// Heard is called when its turn has come. It must not block.
	Heard func()
}

// Async runs work beside the actor and sends its answer as a message. work must
// capture values only, never the actor's context.
func Async(c actor.Context, work func() any) {
	self := Self(c)
	go func() { self.Send(work()) }()
}
