package sim

import (
	"container/heap"
	"maps"
	"slices"
)

// what is due.
type what int

const (
	begin what = iota
	end
	calmBegin
	calmEnd
)

type event struct {
	at    Span
	seq   int // of equal times, the first made comes first
	what  what
	fault Fault
	id    int // of the fault that ends
}

// agenda is what is still to come, and the faults that go on.
type agenda struct {
	events []event
	made   int
	going  map[int]func()
}

func newAgenda(s Scenario) *agenda {
	a := &agenda{going: map[int]func(){}}
	for _, f := range s.Faults {
		a.push(event{at: f.At, what: begin, fault: f})
	}
	for _, c := range s.Calms {
		a.push(event{at: c.At, what: calmBegin})
		a.push(event{at: c.Until, what: calmEnd})
	}
	return a
}

func (a *agenda) push(e event) {
	a.made++
	e.seq = a.made
	heap.Push(a, e)
}

// add notes how a fault ends, and when at the latest.
func (a *agenda) add(at Span, finish func()) {
	id := a.made
	a.going[id] = finish
	a.push(event{at: at, what: end, id: id})
}

func (a *agenda) finish(id int) {
	if end, ok := a.going[id]; ok {
		delete(a.going, id)
		end()
	}
}

// finishAll ends all faults, in the order in which they began.
func (a *agenda) finishAll() {
	for _, id := range slices.Sorted(maps.Keys(a.going)) {
		a.finish(id)
	}
}

// Len implements heap.Interface.
func (a *agenda) Len() int { return len(a.events) }

// Less implements heap.Interface.
func (a *agenda) Less(i, j int) bool {
	if a.events[i].at != a.events[j].at {
		return a.events[i].at < a.events[j].at
	}
	return a.events[i].seq < a.events[j].seq
}

// Swap implements heap.Interface.
func (a *agenda) Swap(i, j int) { a.events[i], a.events[j] = a.events[j], a.events[i] }

// Push implements heap.Interface.
func (a *agenda) Push(x any) { a.events = append(a.events, x.(event)) }

// Pop implements heap.Interface.
func (a *agenda) Pop() any {
	last := a.events[len(a.events)-1]
	a.events = a.events[:len(a.events)-1]
	return last
}
