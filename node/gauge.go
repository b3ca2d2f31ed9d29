package node

import (
	"sync/atomic"
	"time"

	"leasehold/actors/membership"
	"leasehold/redisevents"
)

// Gauge says that a node is observed, and by whom. Its functions may be nil; they may be
// called from any goroutine and must not block.
type Gauge struct {
	// Pulse is how often the actors are asked whether they still handle messages; zero:
	// [DefaultPulse].
	Pulse time.Duration
	// Lag hears how long an event takes from Redis to the node.
	Lag func(time.Duration)
	// Batch hears how many leases each call was to renew, and how long it took.
	Batch func(leases int, took time.Duration)
}

// gauges are what the node knows of itself for those who observe it.
type gauges struct {
	members  atomic.Int64 // 0: not known yet
	pairs    atomic.Int64 // of renewer and membership that were made
	known    atomic.Pointer[membership.Known]
	overdue  atomic.Int64
	over     atomic.Bool // the actors have ended
	renewer  part
	deciding part // membership, or the keeper
}

func (n *Node) noteMembers(nodes int) { n.gauges.members.Store(int64(nodes)) }

func (n *Node) noteKnown(k membership.Known) { n.gauges.known.Store(&k) }

// Stats is how a node is. What needs a [Gauge] is zero without one.
type Stats struct {
	// Leases is how many sessions the node holds, Ideal how many it should by its plan.
	Leases, Ideal int
	// Failing is how many of its sessions failed when this node polled them last; it needs
	// a Gauge.
	Failing int
	// Validity is the least trust that is left in a lease of the node; zero without any.
	Validity time.Duration
	// Members is how many nodes live, this one included.
	Members int
	// InFlight is how many polls are, of Concurrency that may be.
	InFlight, Concurrency int
	// Known is what the node knows of the fleet's sessions; it needs a Gauge.
	Known membership.Known
	// Overdue counts sessions that others should own and that nobody has polled for more
	// than two intervals, among those that were looked at lately; it needs a Gauge.
	Overdue int
	Events  redisevents.Status
	// Actors is how many live now, Restarts how often their root had to make a new pair.
	Actors, Restarts int
	// Fresh says that the heartbeat can be trusted.
	Fresh bool
}

// Stats returns how the node is. It waits for no actor and no server.
func (n *Node) Stats() Stats {
	s := Stats{
		Leases: n.Leases(), Members: max(1, int(n.gauges.members.Load())),
		InFlight: n.flights.Len(), Concurrency: n.cfg.Concurrency,
		Failing: n.failing.Living(),
		Overdue: int(n.gauges.overdue.Load()),
		Events:  n.listener.Status(),
		Actors:  n.actors(), Restarts: max(0, int(n.gauges.pairs.Load())-1),
		Fresh: n.Fresh(),
	}
	s.Validity, _ = n.cells.Shortest(time.Now())
	if p := n.plan.Load(); p != nil {
		s.Ideal = p.mine
	}
	if k := n.gauges.known.Load(); k != nil {
		s.Known = *k
	}
	return s
}

// actors counts them in the library's own books.
func (n *Node) actors() int {
	all := 0
	for _, bucket := range n.system.ProcessRegistry.LocalPIDs.LocalPIDs {
		all += bucket.Count()
	}
	return all
}
