package planner

// none is the owner of every session where there are no nodes.
const none = -1

// Assign divides the sessions among the nodes: it returns, for each session, the
// index of the node that should own it, or -1 if there are no nodes. The time is
// about 1.5 ns for each pair of session and node, plus a sort of the sessions.
func Assign(nodes, sessions []Name) []int32 {
	owners := make([]int32, len(sessions))
	if len(nodes) == 0 {
		for i := range owners {
			owners[i] = none
		}

		return owners
	}
	open := newSeats(nodes, len(sessions))
	offers := make([]offer, len(sessions))
	for i := range sessions {
		offers[i] = open.best(int32(i), sessions[i].hash)
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

	return owners
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

// newSeats gives every node its quota.
func newSeats(nodes []Name, sessions int) *seats {
	s := &seats{room: make([]int, len(nodes))}
	share, more := sessions/len(nodes), sessions%len(nodes)
	for rank, i := range order(nodes, func(n Name) uint64 { return n.hash }) {
		s.room[i] = share
		if rank < more {
			s.room[i]++
		}
	}
	for _, i := range order(nodes, func(Name) uint64 { return 0 }) {
		if s.room[i] > 0 {
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
