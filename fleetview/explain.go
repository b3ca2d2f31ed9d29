package fleetview

import (
	"fmt"
	"time"

	"leasehold/lease"
	"leasehold/planner"
)

// Candidate is a node in the order in which a session prefers them.
type Candidate struct {
	Share

	// Rank is 1 for the node that the session prefers most.
	Rank int
	// Weight is how much they prefer each other: see package planner.
	Weight uint64
	// Cordon is what an operator wants of the node.
	Cordon lease.Cordon
}

// Explanation says who should have a session, and why it is not so, where it isn't.
type Explanation struct {
	// Preferred is who should have it; empty: no node.
	Preferred string
	Reason    string
	// Obstacles are what stands in the way of its being polled by who should; none: it
	// is.
	Obstacles  []string
	Candidates []Candidate
}

// Explain explains a session, by the plan of the nodes that are alive, at now of the
// Redis server's clock.
func (p *Plan) Explain(s Session, nodes Nodes, now time.Time) Explanation {
	e := Explanation{Preferred: p.Owner(s.ID), Candidates: p.candidates(s.ID)}
	e.Reason = reason(s, e)
	e.Obstacles = obstacles(s, nodes, e.Preferred, now)
	return e
}

func (p *Plan) candidates(session string) []Candidate {
	name, shares := planner.NewName(session), p.Shares()
	all := make([]Candidate, 0, len(shares))
	for i, node := range planner.Rank(name, p.draft.view.Nodes) {
		all = append(all, Candidate{
			Share: shares[node], Rank: i + 1, Weight: planner.Weight(p.draft.view.Nodes[node], name),
			Cordon: p.draft.nodes[shares[node].Instance].Cordon,
		})
	}
	return all
}

// reason says why the preferred node is that one.
func reason(s Session, e Explanation) string {
	if e.Preferred == "" {
		return "no node is to have it"
	}
	rank, holder := 0, Share{}
	for _, c := range e.Candidates {
		if c.Instance == e.Preferred {
			rank = c.Rank
		}
		if c.Instance == s.Lease.Holder {
			holder = c.Share
		}
	}
	switch {
	case holder.Instance == e.Preferred && holder.Has <= holder.Share:
		return fmt.Sprintf("it has the session, and no more than its share of %d", holder.Share)
	case holder.Instance == e.Preferred:
		return fmt.Sprintf("it has the session, and prefers it to those that it has above its share of %d", holder.Share)
	case holder.Instance != "":
		return fmt.Sprintf("the holder has %d sessions, more than its share of %d; %s", holder.Has, holder.Share, ranked(rank))
	}
	return "no node that counts has it; " + ranked(rank)
}

func ranked(rank int) string {
	if rank == 1 {
		return "this one ranks first"
	}
	return fmt.Sprintf("this one ranks %d, and those before it are full with sessions that weigh more", rank)
}

// obstacles says what stands in the way, the worst first.
func obstacles(s Session, nodes Nodes, preferred string, now time.Time) []string {
	var all []string
	in := s.Lease
	switch state := nodes.State(s); state {
	case Invalid:
		all = append(all, s.Problem)
	case Paused:
		all = append(all, "it is paused")
	case External:
		all = append(all, "it is external: no node polls it, and no worker has its lease")
	case API:
		all = append(all, "the worker "+in.Holder+" has its lease, over the lease API or a library"+until(in))
	case Orphaned:
		all = append(all, "its lease is that of "+in.Holder+", which is gone"+until(in))
	case Unleased:
		all = append(all, unleased(nodes, preferred))
	case OK, Failing:
		switch {
		case s.Stopping:
			all = append(all, "its holder "+in.Holder+" is stopping, and gives it back when its poll has ended")
		case in.Holder != preferred:
			all = append(all, in.Holder+" has its lease, and gives it up when its poll has ended and the fleet has stood still for a moment")
		}
		if state == Failing {
			all = append(all, failures(s.View()))
		}
	}
	if in.Holder != "" && in.Err == nil && in.Remaining == lease.NoExpiry {
		all = append(all, "its lease has no expiry: nodes take it over when they have seen that for three TTLs")
	}
	if late := nodes.Late(s, now); late > 0 {
		all = append(all, "it is overdue by "+late.Round(time.Second).String())
	}
	return all
}

// failures says how often, and why, the last polls failed.
func failures(v View) string {
	said := "its last poll failed"
	if v.Failures > 1 {
		said = fmt.Sprintf("its last %d polls failed", v.Failures)
	}
	if why := v.LastRun.Failure(); why != "" {
		said += ": " + why
	}
	return said
}

func unleased(nodes Nodes, preferred string) string {
	switch {
	case len(nodes) == 0:
		return "no node is alive"
	case nodes.cordoned():
		return "nobody has its lease, and all nodes are cordoned: none takes what it does not have"
	case preferred == "":
		return "nobody has its lease, and no node may take it"
	}
	return "nobody has its lease; " + preferred + " should take it within a moment, unless it is full (LEASEHOLD_MAX_SESSIONS), waits after a failure, or Redis was started less than a lease's TTL ago"
}

// until says when a lease ends.
func until(in lease.Inspection) string {
	if in.Remaining == lease.NoExpiry {
		return ""
	}
	return ", for " + in.Remaining.Round(100*time.Millisecond).String() + " more unless renewed"
}
