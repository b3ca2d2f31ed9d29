package planner

// queue is a heap of one offer per session, the heaviest on top.
type queue struct {
	offers   []offer
	sessions []Name
}

// newQueue makes a heap of the offers, in place.
func newQueue(offers []offer, sessions []Name) *queue {
	q := &queue{offers: offers, sessions: sessions}
	for i := len(offers)/2 - 1; i >= 0; i-- {
		q.sink(i)
	}

	return q
}

// before orders offers by falling weight, ties by the session's name.
func (q *queue) before(a, b *offer) bool {
	if a.weight != b.weight {
		return a.weight > b.weight
	}

	return q.sessions[a.session].id < q.sessions[b.session].id
}

// sink moves an offer down to its place.
func (q *queue) sink(at int) {
	moving := q.offers[at]
	for {
		child := 2*at + 1
		if child >= len(q.offers) {
			break
		}
		if right := child + 1; right < len(q.offers) && q.before(&q.offers[right], &q.offers[child]) {
			child = right
		}
		if !q.before(&q.offers[child], &moving) {
			break
		}
		q.offers[at] = q.offers[child]
		at = child
	}
	q.offers[at] = moving
}

// drop removes the top offer.
func (q *queue) drop() {
	last := len(q.offers) - 1
	q.offers[0] = q.offers[last]
	q.offers = q.offers[:last]
	if last > 0 {
		q.sink(0)
	}
}
