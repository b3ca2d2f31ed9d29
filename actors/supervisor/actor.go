package supervisor

import (
	"fmt"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"leasehold/actors/membership"
	"leasehold/actors/tree"
)

type (
	// remake is the timer's: it is time for a new pair.
	remake struct{}
	// kill stops the tree on purpose.
	kill struct{}
	// probe asks the pair whether it still handles messages.
	probe struct{ renewer, membership func() }
)

// supervisorActor's fields belong to the actor's goroutine.
type supervisorActor struct {
	cfg     Config
	machine machine
	failed  chan<- error
	ended   chan<- error

	epoch      int // of the pair; no name is used twice
	renewer    *actor.PID
	membership *actor.PID
	timer      *time.Timer
	stopping   bool
	reported   bool // how the tree ended
	fenced     bool // as membership was told last
}

// Receive implements actor.Actor.
func (s *supervisorActor) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *actor.Started:
		s.machine = machine{maxFailures: s.cfg.MaxFailures, window: s.cfg.Window}
		s.make(c)
	case *actor.Stopping:
		s.stopping = true
		if s.timer != nil {
			s.timer.Stop()
		}
		s.report(ErrTooManyFailures, ErrIncomplete) // a failure of its own
	case *kill:
		s.reported = true
		c.Stop(c.Self())
	case *actor.Terminated:
		s.terminated(c, m.Who)
	case *remake:
		if !s.stopping && !s.machine.draining {
			s.make(c)
		}
	case *membership.Drain:
		s.drain(c, m)
	case *membership.Drained:
		if s.membership != nil {
			s.machine.drained = true
			c.Stop(s.membership) // the renewer follows
		}
	case *probe:
		s.probe(c, m)
	case *membership.Fenced:
		s.fenced = m.Fenced
		s.pass(c, m)
	case membership.Message:
		s.pass(c, m)
	}
}

func (s *supervisorActor) pass(c actor.Context, m membership.Message) {
	if s.membership != nil {
		c.Send(s.membership, m)
	}
}

// probe asks the pair. One that is gone is on its way, and answers so.
func (s *supervisorActor) probe(c actor.Context, m *probe) {
	ask(c, s.renewer, m.renewer)
	ask(c, s.membership, m.membership)
}

func ask(c actor.Context, pid *actor.PID, heard func()) {
	if pid == nil {
		heard()
		return
	}
	c.Send(pid, &tree.Beat{Heard: heard})
}

// make starts a pair.
func (s *supervisorActor) make(c actor.Context) {
	s.epoch++
	s.renewer = s.spawn(c, s.cfg.Renewer(), fmt.Sprintf("renewer.%d", s.epoch))
	s.membership = s.spawn(c, s.cfg.Membership(s.renewer), fmt.Sprintf("membership.%d", s.epoch))
	if s.fenced { // the new one has not heard of it
		c.Send(s.membership, &membership.Fenced{Fenced: true})
	}
}

func (*supervisorActor) spawn(c actor.Context, props *actor.Props, name string) *actor.PID {
	pid, err := c.SpawnNamed(props, name)
	if err != nil { // the name is new
		panic(err)
	}
	return pid
}

func (s *supervisorActor) drain(c actor.Context, m *membership.Drain) {
	s.machine.draining = true
	if s.membership == nil && s.renewer == nil { // between two pairs
		s.pairGone(c)
		return
	}
	s.pass(c, m)
}

// terminated follows the end of one of the pair: the other goes too, membership
// before the renewer, which carries its releases.
func (s *supervisorActor) terminated(c actor.Context, who *actor.PID) {
	switch {
	case s.membership != nil && who.Equal(s.membership):
		s.membership = nil
		if s.renewer != nil {
			c.Stop(s.renewer)
		}
	case s.renewer != nil && who.Equal(s.renewer):
		s.renewer = nil
		if s.membership != nil {
			c.Stop(s.membership)
		}
	default:
		return
	}
	if s.membership == nil && s.renewer == nil && !s.stopping {
		s.pairGone(c)
	}
}

func (s *supervisorActor) pairGone(c actor.Context) {
	next, wait := s.machine.onPairGone(time.Now())
	switch next {
	case again:
		s.timer = tree.Self(c).After(wait, &remake{})
	case giveUp:
		s.report(ErrTooManyFailures, ErrIncomplete)
		c.Stop(c.Self())
	case done:
		s.report(nil, nil)
		c.Stop(c.Self())
	case incomplete:
		s.report(nil, ErrIncomplete)
		c.Stop(c.Self())
	}
}

// report tells how the tree ended, once: to who waits for a failure, unless failed
// is nil, and to who waits for a drain.
func (s *supervisorActor) report(failed, ended error) {
	if s.reported {
		return
	}
	s.reported = true
	if failed != nil {
		s.failed <- failed
	}
	s.ended <- ended
}
