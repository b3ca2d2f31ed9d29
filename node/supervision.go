package node

import (
	"github.com/asynkron/protoactor-go/actor"

	"leasehold/actors/keeper"
	"leasehold/actors/leaseholder"
	"leasehold/actors/membership"
	"leasehold/actors/poller"
	"leasehold/actors/renewer"
	"leasehold/actors/supervisor"
	"leasehold/actors/tenure"
	"leasehold/actors/tree"
	"leasehold/eventlog"
	"leasehold/gate"
)

// supervision says how the tree of actors is made.
func (n *Node) supervision() supervisor.Config {
	return supervisor.Config{
		System:     n.system,
		Report:     n.report,
		Renewer:    n.renewer,
		Membership: n.membership(),
	}
}

// report logs a panic in an actor.
func (n *Node) report(f tree.Failure) {
	n.cfg.Log.Emit(eventlog.ActorFailed{Actor: f.Actor, Reason: f.During + ": " + f.Reason, Stack: f.Stack})
}

func (n *Node) renewer() *actor.Props {
	cfg := renewer.Config{
		Context: n.ctx, Store: n.store, Instance: n.cfg.Instance,
		TTL: n.cfg.LeaseTTL, Interval: n.cfg.RenewInterval, Margin: n.cfg.Margin,
		Log: n.cfg.Log, Report: n.report,
	}
	if n.cfg.Poll != nil { // leases by hand have the TTL that was asked for
		cfg.Stagger = n.cfg.stagger()
	}
	n.gauges.pairs.Add(1)
	if n.cfg.Gauge != nil {
		cfg.Batch = n.cfg.Gauge.Batch
	}
	if n.heart != nil {
		cfg.Beat = n.heart.Beat
	}
	return renewer.Props(cfg)
}

// membership returns how the actor is made that decides what this node holds: by the
// plan where there is something to poll, else as it is asked.
func (n *Node) membership() func(renewals *actor.PID) *actor.Props {
	if n.cfg.Poll == nil {
		return n.keeper
	}
	deps := &poller.Deps{
		Ledger: n.store, TTL: n.cfg.LeaseTTL, Timeout: n.cfg.Store.Timeout, Question: func() int64 { return n.questions.Add(1) }, Poll: n.cfg.Poll,
		Gate: gate.New(n.cfg.Concurrency), Hosts: n.cfg.Hosts, Results: n.cfg.Results,
		Flights: n.flights, Failing: n.failing, Log: n.cfg.Log, Report: n.report,
	}
	props := poller.Maker(deps)
	if n.cfg.Watcher != nil {
		props = tenure.Maker(tenure.Config{Watcher: n.cfg.Watcher, Poller: props, Report: n.report})
	}
	return func(renewals *actor.PID) *actor.Props { return n.planner(renewals, props) }
}

func (n *Node) planner(renewals *actor.PID, child func(poller.Config) *actor.Props) *actor.Props {
	holders := n.holders(renewals, child)
	cfg := membership.Config{
		Settings: n.settings(),
		Context:  n.ctx, Store: n.store, Members: n.store, Source: n.store, Events: n.listener,
		Holder:  leaseholder.Maker(holders),
		Renewer: renewals, Log: n.cfg.Log, Report: n.report,
		Owned: n.own, Planned: n.notePlan, Living: n.noteMembers,
	}
	if n.cfg.Gauge != nil {
		cfg.Known = n.noteKnown
	}
	return membership.Props(cfg)
}

func (n *Node) keeper(renewals *actor.PID) *actor.Props {
	return keeper.Props(keeper.Config{
		Context: n.ctx, Holder: n.cfg.Instance, TTL: n.cfg.LeaseTTL, Margin: n.cfg.Margin,
		Store: n.store, Members: n.store, Requests: n.cfg.Requests, Events: n.listener,
		Leaseholders: func(opened func(*tenure.Tenure)) func(leaseholder.Config) *actor.Props {
			tenures := tenure.Maker(tenure.Config{Watcher: n.cfg.Watcher, Opened: opened, Report: n.report})
			return leaseholder.Maker(n.holders(renewals, tenures))
		},
		Renewer: renewals, Owned: n.own, Log: n.cfg.Log, Report: n.report,
	})
}

func (n *Node) holders(renewals *actor.PID, child func(poller.Config) *actor.Props) *leaseholder.Deps {
	return &leaseholder.Deps{
		Context: n.ctx, Renewer: renewals, Poller: child, Cells: n.cells, Log: n.cfg.Log, Report: n.report,
	}
}

// own books how many leases there are.
func (n *Node) own(leases int) { n.leases.Store(int64(leases)) }

func (n *Node) settings() membership.Settings {
	return membership.Settings{
		Instance: n.cfg.Instance,
		TTL:      n.cfg.LeaseTTL, Margin: n.cfg.Margin, Stagger: n.cfg.stagger(), Reconcile: n.cfg.ReconcileInterval,
		PollSlack:   poller.Slack(n.cfg.Store.Timeout) + pollEnd,
		MaxSessions: n.cfg.MaxSessions, Polling: n.flights.Has,
		Keys: n.cfg.Keys, Defaults: n.cfg.Defaults, CheckID: n.cfg.CheckID,
	}
}
