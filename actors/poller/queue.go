package poller

import (
	"github.com/asynkron/protoactor-go/actor"

	"leasehold/actors/tree"
	"leasehold/eventlog"
	"leasehold/gate"
	"leasehold/lease"
)

// queue is an attempt that waits for its places: first that of its host, where hosts are
// bounded, then one among the polls of the node.
type queue struct{ host, node *gate.Place }

// leave gives up what there is.
func (q *queue) leave() {
	if q.node != nil {
		q.node.Leave()
	}
	if q.host != nil {
		q.host.Leave()
	}
}

// enter goes as far as there are places, and starts the attempt once it has all.
func (p *pollerActor) enter(c actor.Context) {
	q, self := p.queue, tree.Self(c)
	ready := func() { self.Send(&turn{of: q}) }
	in := true
	if q.host == nil && p.deps.Hosts != nil {
		q.host, in = p.deps.Hosts.Enter(p.machine.session.URL, ready)
	}
	if in && q.node == nil {
		q.node, in = p.deps.Gate.Enter(ready)
	}
	switch {
	case !in:
	case !p.cell.Usable():
		p.withdraw(c)
	default:
		p.queue = nil
		p.start(c, q)
	}
}

// withdraw ends an attempt before it was started.
func (p *pollerActor) withdraw(c actor.Context) {
	p.queue.leave()
	p.queue = nil
	p.ended(c, skipped(p.deps.Log, p.cell.Grant(), &ran{kind: unusable}))
}

// skipped tells of an attempt that did not become a poll.
func skipped(log *eventlog.Log, g lease.Grant, r *ran) *ran {
	log.Emit(eventlog.PollSkipped{Session: g.Session, Version: int64(g.Token), Reason: r.kind.String()})
	return r
}
