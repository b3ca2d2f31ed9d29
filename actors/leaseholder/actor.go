package leaseholder

import (
	"errors"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"leasehold/actors/poller"
	"leasehold/actors/renewer"
	"leasehold/actors/tree"
	"leasehold/eventlog"
	"leasehold/lease"
	"leasehold/lease/cell"
)

// errReleased and errStopped are causes of a cell's end that no one need hear of.
const (
	errReleased = causeError("the lease was given back")
	errStopped  = causeError("the leaseholder stopped")
)

type causeError string

func (e causeError) Error() string { return string(e) }

// holderActor translates messages into events of the machine, and its actions
// into messages. All fields belong to the actor's goroutine.
type holderActor struct {
	deps    *Deps
	first   *Config // nil once the actor has started
	ttl     time.Duration
	machine machine

	cell   *cell.Cell
	began  time.Time
	poller *actor.PID
	unsure error // why it is not known what became of the release
	taken  bool  // the lease was lost to another
	ended  bool
}

// Receive implements actor.Actor.
func (h *holderActor) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *actor.Started:
		h.start(c)
	case *actor.Stopping:
		h.quit(c)
	case *actor.Terminated:
		h.apply(c, h.machine.onPollerEnded())
	case *poller.Failed:
		h.apply(c, h.machine.onPollFailed(m.RetryIn))
	case *renewer.Suspended:
		h.suspended(c, m)
	case *renewer.Renewed:
		h.apply(c, h.machine.onRenewed())
	case *renewer.Released:
		h.noteReleased(m.Err)
		h.apply(c, h.machine.onReleased())
	case Message:
		h.handle(c, m)
	}
}

func (h *holderActor) handle(c actor.Context, message Message) {
	switch m := message.(type) {
	case *Release:
		h.apply(c, h.machine.onRelease(m.Reason))
	case *Abort:
		h.apply(c, h.machine.onAbort())
	case *Update:
		h.update(c, m)
	case *Verify:
		c.Send(h.deps.Renewer, &renewer.Verify{Grant: h.cell.Grant()})
	case *cellEnded:
		h.noteLoss(m.cause)
		h.apply(c, h.machine.onCellEnded())
	}
}

// start makes the cell, has it renewed, and makes the poller.
func (h *holderActor) start(c actor.Context) {
	cfg := h.first
	h.first = nil
	h.cell, h.began, h.ttl = cell.New(h.deps.Context, cfg.Term), time.Now(), cfg.TTL
	self := tree.Self(c)
	h.cell.OnEnd(func(cause error) { self.Send(&cellEnded{cause: cause}) })
	h.deps.Cells.Add(h.cell)
	h.track(c)

	props := h.deps.Poller(poller.Config{Cell: h.cell, Session: cfg.Session, First: cfg.First, HeldOff: cfg.HeldOff})
	pid, err := c.SpawnNamed(props, "poller")
	if err != nil { // the name is unique as this actor's is
		panic(err)
	}
	h.poller = pid
}

func (h *holderActor) track(c actor.Context) {
	c.Send(h.deps.Renewer, &renewer.Track{Cell: h.cell, TTL: h.ttl, Holder: tree.Self(c)})
}

func (h *holderActor) update(c actor.Context, m *Update) {
	if !h.machine.polling() {
		return
	}
	if m.TTL != h.ttl {
		h.ttl = m.TTL
		h.track(c)
	}
	c.Send(h.poller, &poller.Update{Session: m.Session})
}

// suspended follows a renewal without an answer. The cell lets no poll start; the
// child hears of it for those that it tells.
func (h *holderActor) suspended(c actor.Context, m *renewer.Suspended) {
	h.machine.onSuspended()
	if h.machine.polling() {
		c.Send(h.poller, m)
	}
}

func (h *holderActor) apply(c actor.Context, a action) {
	switch a {
	case nothing:
	case finishPoll:
		c.Send(h.poller, &poller.Stop{})
	case cancelPoll:
		c.Send(h.poller, &poller.Stop{Abort: true})
	case resumePoll:
		c.Send(h.poller, &poller.Resume{})
	case giveBack:
		h.giveBack(c)
	case end:
		h.end(c, false)
	case endReleased:
		h.end(c, true)
	}
}

// giveBack releases the lease. The poller has ended, so nobody uses the cell.
func (h *holderActor) giveBack(c actor.Context) {
	h.cell.OnEnd(nil)
	giveUp := h.cell.TrustedUntil()
	h.cell.Kill(errReleased)
	c.Send(h.deps.Renewer, &renewer.Release{
		Release: lease.Release{Grant: h.cell.Grant(), Forget: h.machine.reason == Deleted},
		ReplyTo: tree.Self(c),
		GiveUp:  giveUp,
	})
}

// end reports to the parent, who then stops this actor: Terminated is a system
// message, and would overtake the report if this actor stopped itself.
func (h *holderActor) end(c actor.Context, released bool) {
	h.ended = true
	h.deps.Cells.Remove(h.cell)
	if !released {
		c.Send(h.deps.Renewer, &renewer.Untrack{Grant: h.cell.Grant()})
	}
	c.Request(c.Parent(), &Ended{
		Grant: h.cell.Grant(), Released: released, Err: h.unsure, Trusted: h.cell.TrustEnded(), Taken: h.taken,
		Reason: h.machine.reason, Fault: h.machine.fault, RetryIn: h.machine.retryIn,
	})
}

// quit is for an end that this actor did not choose: the cell dies first, and the
// children, who are stopped next, end their poll.
func (h *holderActor) quit(c actor.Context) {
	if h.ended || h.cell == nil {
		return
	}
	h.cell.OnEnd(nil)
	h.deps.Cells.Remove(h.cell)
	h.cell.Kill(errStopped)
	h.machine.phase = over // the poller's end, which follows, gives nothing back
	c.Send(h.deps.Renewer, &renewer.Untrack{Grant: h.cell.Grant()})
}

// held is for how long the lease was held until now.
func (h *holderActor) held() time.Duration { return time.Since(h.began) }

func (h *holderActor) noteLoss(cause error) {
	g := h.cell.Grant()
	if errors.Is(cause, cell.ErrExpired) {
		h.deps.Log.Emit(eventlog.LeaseExpired{Session: g.Session, Version: int64(g.Token), Reason: cause.Error(), Held: h.held()})
		return
	}
	lost := eventlog.LeaseLost{Session: g.Session, Version: int64(g.Token), Reason: cause.Error(), Held: h.held()}
	if loss, ok := errors.AsType[*lease.LostError](cause); ok {
		lost.Reason, lost.Holder = loss.Reason, loss.Holder
		h.taken = loss.Holder != "" && loss.Holder != g.Holder
	}
	h.deps.Log.Emit(lost)
}

func (h *holderActor) noteReleased(err error) {
	g := h.cell.Grant()
	switch {
	case err == nil:
		h.deps.Log.Emit(eventlog.LeaseReleased{Session: g.Session, Version: int64(g.Token), Reason: string(h.machine.reason), Held: h.held()})
	case errors.Is(err, lease.ErrLost), errors.Is(err, lease.ErrForeign):
		h.deps.Log.Emit(eventlog.LeaseLost{Session: g.Session, Version: int64(g.Token), Reason: err.Error(), Held: h.held()})
	default:
		h.unsure = err
		h.deps.Log.Emit(eventlog.LeaseExpired{
			Session: g.Session, Version: int64(g.Token), Held: h.held(),
			Reason: "the release had no answer, the lease is left to run out: " + err.Error(),
		})
	}
}
