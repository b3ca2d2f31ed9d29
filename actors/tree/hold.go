package tree

import (
	"github.com/asynkron/protoactor-go/actor"
	"github.com/asynkron/protoactor-go/extensions"
)

//nolint:gochecknoglobals // the library numbers the kinds of extensions once a process
var holderID = extensions.NextExtensionID()

// holder is the extension of an actor system whose actors can be held up.
type holder func()

// ExtensionID implements extensions.Extension.
func (holder) ExtensionID() extensions.ExtensionID { return holderID }

// Hold makes every actor of the system call wait before it handles a message. It
// lets a test stop a node as SIGSTOP stops its process. Call it before the first
// actor is made.
func Hold(system *actor.ActorSystem, wait func()) {
	system.Extensions.Register(holder(wait))
}

func hold(system *actor.ActorSystem) {
	if wait, ok := system.Extensions.Get(holderID).(holder); ok {
		wait()
	}
}
