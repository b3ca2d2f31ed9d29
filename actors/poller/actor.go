package poller

import (
	"context"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"leasehold/actors/tree"
	"leasehold/eventlog"
	"leasehold/lease/cell"
	"leasehold/session"
)

// pollerActor translates messages into events of the machine, and its effects
// into timers and goroutines. All fields belong to the actor's goroutine.
type pollerActor struct {
	deps    *Deps
	cell    *cell.Cell
	first   time.Duration
	heldOff time.Duration
	machine machine
	// attempt names the next one, after its first question; zero before that. One whose
	// question had no answer keeps its name.
	attempt int64

	timer *time.Timer
	seq   uint64 // of the timer that counts

	owed    *owed
	failing bool // the last poll failed

	queue     *queue // the attempt that waits; nil: none does
	deferring bool   // a deferral was logged and is not over
	hold      context.CancelFunc
	abort     context.CancelFunc
	done      chan struct{} // closed when the attempt in flight has ended
	cut       *time.Timer   // ends its poll by a shorter timeout than it began with
}

// Receive implements actor.Actor.
func (p *pollerActor) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *actor.Started:
		p.apply(c, p.machine.onStart(p.first, p.heldOff))
	case *actor.Stopping:
		p.quit()
	case Message:
		p.handle(c, m)
	}
}

func (p *pollerActor) handle(c actor.Context, message Message) {
	switch m := message.(type) {
	case *tick:
		if m.seq == p.seq {
			p.apply(c, p.machine.onTick(p.cell.Usable()))
		}
	case *Resume:
		p.apply(c, p.machine.onResume(p.cell.Usable()))
	case *Update:
		p.update(c, m.Session)
	case *Stop:
		p.apply(c, p.machine.onStop(m.Abort))
	case *turn:
		if m.of == p.queue {
			p.enter(c)
		}
	case *overlong:
		if p.done == m.done {
			p.abort()
		}
	case *ran:
		p.uncut()
		p.hold, p.abort, p.done = nil, nil, nil
		p.owed = m.owed
		if m.kind == polled {
			p.attempt, p.failing = 0, m.failed || m.canceled && p.failing
		}
		p.noteDeferral(m)
		p.ended(c, m)
	}
}

// update takes a changed document. Who waits keeps his turn, and polls by the new one,
// unless it names another host.
func (p *pollerActor) update(c actor.Context, s *session.Session) {
	keeps := p.queue != nil && s.URL == p.machine.session.URL
	if e := p.machine.onUpdate(s, p.cell.Usable()); !keeps {
		p.apply(c, e)
	}
}

// ended follows the end of an attempt.
func (p *pollerActor) ended(c actor.Context, r *ran) {
	p.apply(c, p.machine.onRan(r, p.cell.Usable()))
}

func (p *pollerActor) apply(c actor.Context, e effect) {
	switch e.do {
	case nothing:
	case arm:
		p.disarm()
		p.timer = tree.Self(c).After(e.wait, &tick{seq: p.seq})
	case start:
		p.disarm()
		p.queue = &queue{}
		p.enter(c)
	case hold, abort:
		p.stop(c, e)
	case end:
		p.disarm()
		c.Stop(c.Self())
	case yield:
		p.disarm()
		c.Send(c.Parent(), &Failed{RetryIn: e.wait})
	}
}

// stop ends the attempt: one that waits for its places at once.
func (p *pollerActor) stop(c actor.Context, e effect) {
	switch {
	case p.queue != nil:
		p.withdraw(c)
	case e.do == abort:
		p.abort()
	default:
		p.hold()
		if e.wait > 0 { // the attempt's own deadline stays
			p.uncut()
			p.cut = tree.Self(c).After(e.wait, &overlong{done: p.done})
		}
	}
}

// start runs an attempt, which has its places, beside the actor.
func (p *pollerActor) start(c actor.Context, q *queue) {
	poll, abort := p.cell.Use()
	ask, hold := context.WithCancel(poll)
	done := make(chan struct{})
	p.abort, p.hold, p.done = abort, hold, done

	question := p.deps.Question()
	if p.attempt == 0 {
		p.attempt = question
	}
	a := attempt{deps: p.deps, cell: p.cell, session: p.machine.session, name: p.attempt, question: question, owed: p.owed, failing: p.failing}
	tree.Async(c, func() any {
		defer close(done)
		defer q.leave()
		defer abort()
		defer hold()
		return a.run(ask, poll)
	})
}

// disarm makes the timer that is set, and a tick already sent, count no more.
func (p *pollerActor) disarm() {
	p.seq++
	if p.timer != nil {
		p.timer.Stop()
		p.timer = nil
	}
}

func (p *pollerActor) uncut() {
	if p.cut != nil {
		p.cut.Stop()
		p.cut = nil
	}
}

// quit is for an end that was not asked for by Stop: it waits for the poll, whose
// context is canceled, so that nothing runs when the parent hears of the end.
func (p *pollerActor) quit() {
	p.machine.stopping = true
	p.disarm()
	p.uncut()
	if p.queue != nil {
		p.queue.leave()
		p.queue = nil
	}
	if p.abort != nil {
		p.abort()
		<-p.done
	}
}

// noteDeferral logs that Redis does not let polls start, once each time.
func (p *pollerActor) noteDeferral(r *ran) {
	deferring := r.kind == deferred
	if deferring && !p.deferring {
		g := p.cell.Grant()
		p.deps.Log.Emit(eventlog.PollDeferred{Session: g.Session, Version: int64(g.Token), Err: r.err})
	}
	p.deferring = deferring
}
