package actortest

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/asynkron/protoactor-go/actor"

	"leasehold/actors/tree"
)

// Probe is an actor that records what it gets. It can be the parent of others.
type Probe struct {
	system *System
	pid    *actor.PID
	answer func(c actor.Context, message any)

	mu      sync.Mutex
	got     []any
	senders []*actor.PID
}

var names atomic.Int64

// NewProbe returns a probe that is alive. answer, which may be nil, is called in
// the probe's own goroutine with each message, once it was recorded.
func (s *System) NewProbe(answer func(c actor.Context, message any)) *Probe {
	p := &Probe{system: s, answer: answer}
	props := tree.AsRoot(tree.Props(func() actor.Actor { return p }, s.Report))
	pid, err := s.Root.SpawnNamed(props, fmt.Sprintf("probe%d", names.Add(1)))
	if err != nil { // the name is new
		panic(err)
	}
	p.pid = pid

	return p
}

type (
	spawn struct {
		props *actor.Props
		name  string
		made  chan *actor.PID
	}
	stop struct{ pid *actor.PID }
	run  struct {
		f    func(actor.Context)
		done chan struct{}
	}
)

// Receive implements actor.Actor.
func (p *Probe) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *actor.Started, *actor.Stopping, *actor.Stopped:
		return
	case *spawn:
		pid, err := c.SpawnNamed(m.props, m.name)
		if err != nil {
			panic(err)
		}
		m.made <- pid
		return
	case *stop:
		c.Stop(m.pid)
		return
	case *run:
		m.f(c)
		close(m.done)
		return
	}
	p.mu.Lock()
	p.got = append(p.got, c.Message())
	p.senders = append(p.senders, c.Sender())
	p.mu.Unlock()
	if p.answer != nil {
		p.answer(c, c.Message())
	}
}

// Spawn makes a child of the probe.
func (p *Probe) Spawn(props *actor.Props, name string) *actor.PID {
	made := make(chan *actor.PID, 1)
	p.Send(&spawn{props: props, name: name, made: made})

	return <-made
}

// Do runs f in the probe's goroutine and waits for it.
func (p *Probe) Do(f func(c actor.Context)) {
	done := make(chan struct{})
	p.Send(&run{f: f, done: done})
	<-done
}

// StopChild stops a child as a parent does.
func (p *Probe) StopChild(pid *actor.PID) { p.Send(&stop{pid: pid}) }

// Send sends a message to the probe.
func (p *Probe) Send(message any) { p.system.Root.Send(p.pid, message) }

// PID is the probe's address.
func (p *Probe) PID() *actor.PID { return p.pid }

// Mailbox is the probe's address.
func (p *Probe) Mailbox() tree.Mailbox {
	var m tree.Mailbox
	p.Do(func(c actor.Context) { m = tree.Self(c) })

	return m
}

// Got returns all messages so far.
func (p *Probe) Got() []any {
	p.mu.Lock()
	defer p.mu.Unlock()

	return append([]any(nil), p.got...)
}

// Kinds returns the types of all messages so far, without package and star.
func (p *Probe) Kinds() []string {
	var kinds []string
	for _, m := range p.Got() {
		kinds = append(kinds, Kind(m))
	}

	return kinds
}

// Stop ends the probe and its children.
func (p *Probe) Stop() { p.system.Root.Stop(p.pid) }

// Kind is a message's type, without package and star.
func Kind(m any) string {
	name := fmt.Sprintf("%T", m)

	return name[strings.LastIndexByte(name, '.')+1:]
}

// Count counts the messages of one type so far.
func Count[M any](p *Probe) int { return len(All[M](p)) }

// All returns the messages of one type so far.
func All[M any](p *Probe) []M {
	var all []M
	for _, m := range p.Got() {
		if typed, ok := m.(M); ok {
			all = append(all, typed)
		}
	}

	return all
}
