// Package membership is the actor that knows who lives, what there is to poll and
// who should own it, and that has one leaseholder for each session this node owns.
//
// # Owns
//
// The view of the fleet, the catalog of sessions, the plan, and the leaseholder
// actors.
//
// # Invariants
//
//   - One leaseholder for each owned session, none otherwise; a new one is made
//     only after Terminated of the one before.
//   - Events, the plan and memory lead to attempts only. A lease script in Redis
//     decides each of them.
//   - Events and scans lead to the same state; events only sooner. A gap in the
//     events is answered by a look at everything.
//   - A session is given up for balance only when another live node should have it,
//     the view of the fleet has stood still, and the poll in flight has ended.
//   - While the node is fenced or draining nothing is claimed.
//   - After Redis was restarted or replaced, only sessions that this node held
//     itself are claimed for one TTL: whoever was cut off may have a poll in flight.
//
// # Not promised
//
// That all nodes see the same fleet at the same moment: the lease decides, the plan
// only prefers.
//
// # On failure
//
// A leaseholder that failed is forgotten on Terminated, and its session is claimed
// anew after a growing wait. Documents that can't be used are reported once and
// skipped. When Redis does not answer, everything is tried again.
package membership
