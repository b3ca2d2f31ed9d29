package planner

import (
	"cmp"
	"slices"
)

// None stands for no node, as the owner of a session.
const None = -1

// View is what a division is made of.
type View struct {
	Nodes, Sessions []Name
	// Present holds, for each session, the index of the node that has it, or None.
	// A nil slice says that nobody has any.
	Present []int32
	// Most limits what nodes get, by their index. The limits hold as far as the
	// other nodes can take the rest.
	Most map[int]int
}

// Assign divides the sessions among the nodes. It returns, for each session, the
// index of the node that should own it, or None if there are no nodes. The time is
// about 1.5 ns for each pair of a node and a session that nobody keeps, plus a sort
// of these sessions.
func Assign(v View) []int32 {
	owners := make([]int32, len(v.Sessions))
	for i := range owners {
		owners[i] = None
	}
	if len(v.Nodes) == 0 {
		return owners
	}
	held := holdings(v)
	room := quotas(v, held)
	kept := keep(owners, v, held, room)
	match(owners, newSeats(v.Nodes, room), v.Sessions, len(owners)-kept)

	return owners
}

// holdings lists the sessions of each node.
func holdings(v View) [][]int32 {
	held := make([][]int32, len(v.Nodes))
	for session, node := range v.Present {
		if node != None {
			held[node] = append(held[node], int32(session))
		}
	}

	return held
}

// keep leaves to each node what it has, up to its quota: the heaviest. It takes
// these places from room and returns their number.
func keep(owners []int32, v View, held [][]int32, room []int) int {
	kept := 0
	for node, list := range held {
		if len(list) > room[node] {
			slices.SortFunc(list, func(a, b int32) int {
				return cmp.Or(
					cmp.Compare(Weight(v.Nodes[node], v.Sessions[b]), Weight(v.Nodes[node], v.Sessions[a])),
					cmp.Compare(v.Sessions[a].id, v.Sessions[b].id),
				)
			})
			list = list[:room[node]]
		}
		for _, session := range list {
			owners[session] = int32(node)
		}
		room[node] -= len(list)
		kept += len(list)
	}

	return kept
}

// match gives the sessions without owner, whose number is free, to the seats.
func match(owners []int32, open *seats, sessions []Name, free int) {
	offers := make([]offer, 0, free)
	for i := range sessions {
		if owners[i] == None {
			offers = append(offers, open.best(int32(i), sessions[i].hash))
		}
	}
	queue := newQueue(offers, sessions)
	for len(queue.offers) > 0 {
		top := &queue.offers[0]
		if !open.take(top.node) {
			// The node filled up with heavier sessions: on to the next best. What
			// that one weighs is less, so all heavier pairs are settled by then.
			*top = open.best(top.session, sessions[top.session].hash)
			queue.sink(0)

			continue
		}
		owners[top.session] = top.node
		queue.drop()
	}
}

// offer is a session with the heaviest node that may still have room for it.
type offer struct {
	weight        uint64
	session, node int32
}

// seats are the nodes that have room left.
type seats struct {
	// hashes and nodes list the nodes with room, in the order of their names.
	hashes []uint64
	nodes  []int32
	// room says, by a node's index, how many more sessions it takes.
	room []int
}

// newSeats opens the nodes that have room. It keeps room and changes it.
func newSeats(nodes []Name, room []int) *seats {
	s := &seats{room: room}
	for _, i := range order(nodes, func(Name) uint64 { return 0 }) {
		if room[i] > 0 {
			s.hashes = append(s.hashes, nodes[i].hash)
			s.nodes = append(s.nodes, int32(i)) //nolint:gosec // an index; no fleet has that many nodes
		}
	}

	return s
}

// best returns the heaviest offer for the session among the nodes with room, ties
// by name. There is room as long as there is a session without owner.
func (s *seats) best(session int32, hash uint64) offer {
	heaviest, at := uint64(0), 0
	for i, node := range s.hashes {
		if weight := mix(node ^ hash); weight > heaviest {
			heaviest, at = weight, i
		}
	}

	return offer{weight: heaviest, session: session, node: s.nodes[at]}
}

// take fills one place of the node, unless it has none left.
func (s *seats) take(node int32) bool {
	if s.room[node] == 0 {
		return false
	}
	s.room[node]--
	if s.room[node] == 0 {
		s.close(node)
	}

	return true
}

// close takes the node out of the list and keeps the order of the others.
func (s *seats) close(node int32) {
	kept := 0
	for i, other := range s.nodes {
		if other != node {
			s.nodes[kept], s.hashes[kept] = other, s.hashes[i]
			kept++
		}
	}
	s.nodes, s.hashes = s.nodes[:kept], s.hashes[:kept]
}
