package tenure

import (
	"github.com/asynkron/protoactor-go/actor"

	"leasehold/actors/poller"
	"leasehold/actors/renewer"
	"leasehold/actors/tree"
)

// told says that the watcher returned.
type told struct{}

// tenureActor's fields belong to the actor's goroutine.
type tenureActor struct {
	cfg    *Config
	poller poller.Config

	tenure *Tenure
	below  *actor.PID // the poller; nil if there is none (any more)

	queue     []Change      // not told yet
	telling   chan struct{} // closed when the watcher returns; nil when it is not called
	uncertain bool
	ending    bool // Ended is queued or told
}

// Receive implements actor.Actor.
func (a *tenureActor) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *actor.Started:
		a.start(c)
	case *actor.Stopping:
		a.close()
	case *actor.Stopped:
		a.finish()
	case *actor.Terminated:
		a.below = nil
		a.over(c)
	case *told:
		a.telling = nil
		a.next(c)
	case *renewer.Suspended:
		a.doubt(c, true)
	case *poller.Failed:
		c.Send(c.Parent(), m)
	case *poller.Stop:
		a.stop(c, m)
	case *poller.Resume:
		a.doubt(c, false)
		a.pass(c, m)
	case poller.Message:
		a.pass(c, m)
	}
}

func (a *tenureActor) start(c actor.Context) {
	a.tenure = begin(a.poller.Cell)
	a.cfg.Watcher.Open(a.tenure)
	a.tell(c, Acquired)
	if a.cfg.Poller != nil {
		pid, err := c.SpawnNamed(a.cfg.Poller(a.poller), "poller")
		if err != nil { // the name is unique as this actor's is
			panic(err)
		}
		a.below = pid
	}
	if a.cfg.Opened != nil {
		a.cfg.Opened(a.tenure)
	}
}

// stop ends the tenure once the poller has ended, which is asked to.
func (a *tenureActor) stop(c actor.Context, m *poller.Stop) {
	a.close()
	a.pass(c, m)
	a.over(c)
}

// pass hands on what the leaseholder tells its poller.
func (a *tenureActor) pass(c actor.Context, m poller.Message) {
	if a.below != nil {
		c.Send(a.below, m)
	}
}

// close ends what goes on under the lease but for the poller, which ends in its own
// way.
func (a *tenureActor) close() {
	if a.tenure != nil {
		a.tenure.end(ErrGivenBack)
	}
}

func (a *tenureActor) doubt(c actor.Context, uncertain bool) {
	if a.uncertain == uncertain || a.ending {
		return
	}
	a.uncertain = uncertain
	if uncertain {
		a.tell(c, Uncertain)
	} else {
		a.tell(c, Certain)
	}
}

// over ends the tenure once nothing polls under it.
func (a *tenureActor) over(c actor.Context) {
	if a.below != nil || a.ending {
		return
	}
	a.close() // the poller may have failed
	a.ending = true
	a.tell(c, Ended)
}

func (a *tenureActor) tell(c actor.Context, change Change) {
	a.queue = append(a.queue, change)
	a.next(c)
}

// next tells what comes next, if nothing is being told. After the last the actor
// ends.
func (a *tenureActor) next(c actor.Context) {
	switch {
	case a.telling != nil:
	case len(a.queue) > 0:
		change, done := a.queue[0], make(chan struct{})
		a.queue, a.telling = a.queue[1:], done
		watcher, tenure := a.cfg.Watcher, a.tenure
		tree.Async(c, func() any {
			defer close(done)
			watcher.Tell(tenure, change)
			return &told{}
		})
	case a.ending:
		c.Stop(c.Self())
	}
}

// finish tells what is left. After an end that was asked for that is nothing.
func (a *tenureActor) finish() {
	if a.tenure == nil {
		return
	}
	if a.telling != nil {
		<-a.telling
	}
	if !a.ending {
		a.queue = append(a.queue, Ended)
	}
	for _, change := range a.queue {
		a.cfg.Watcher.Tell(a.tenure, change)
	}
	a.cfg.Watcher.Close(a.tenure)
}
