package planner

// quotas returns how many sessions each node should have: an equal share, and one
// more as far as there is a rest. The rest goes to those first that have more than
// the share already, so that it needs no move. A node that is limited below the
// share leaves what it can't take to the others.
func quotas(v View, held [][]int32) []int {
	room, open, left := limit(v)
	if len(open) == 0 && left == 0 {
		return room
	}
	if len(open) == 0 { // the limits leave too little room
		v.Most = nil
		room, open, left = limit(v)
	}
	share, more := left/len(open), left%len(open)
	names := make([]Name, len(open))
	for i, node := range open {
		names[i] = v.Nodes[node]
		room[node] = share
	}
	rank := order(names, func(n Name) uint64 { return n.hash })
	for _, above := range []bool{true, false} {
		for _, i := range rank {
			if node := open[i]; more > 0 && above == (len(held[node]) > share) {
				room[node]++
				more--
			}
		}
	}

	return room
}

// limit gives the nodes that are limited to the share or less what they may take.
// It returns the others, and how many sessions are left for them: then each of them
// has room for one more than the share.
func limit(v View) (room, open []int, left int) {
	room, left = make([]int, len(v.Nodes)), len(v.Sessions)
	for node := range v.Nodes {
		open = append(open, node)
	}
	for again := true; again && len(open) > 0; {
		again = false
		share, rest := left/len(open), open[:0]
		for _, node := range open {
			most, limited := v.Most[node]
			if !limited || most > share {
				rest = append(rest, node)

				continue
			}
			room[node] = max(0, most)
			left -= room[node]
			again = true
		}
		open = rest
	}

	return room, open, left
}
