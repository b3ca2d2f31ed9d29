package membership

import (
	"container/heap"
	"time"
)

// trigger says what led to an attempt.
type trigger string

const (
	byPlan     trigger = "plan"     // the plan gave the session to this node
	byEvent    trigger = "event"    // Redis announced that the lease went
	byTimer    trigger = "timer"    // the lease's deadline passed
	byScan     trigger = "scan"     // the scan found the lease free
	byFallback trigger = "fallback" // the nodes that rank before did not take it
)

// item is an appointment with a session.
type item struct {
	at  time.Time
	id  string
	why trigger
}

// agenda is a heap of appointments, the earliest first. An appointment that its
// session no longer knows of is stale.
type agenda []item //nolint:recvcheck // container/heap wants both kinds of receivers

func (a agenda) Len() int           { return len(a) }
func (a agenda) Less(i, j int) bool { return a[i].at.Before(a[j].at) }
func (a agenda) Swap(i, j int)      { a[i], a[j] = a[j], a[i] }

// Push implements heap.Interface.
func (a *agenda) Push(x any) { *a = append(*a, x.(item)) } //nolint:forcetypeassert // only add calls it

// Pop implements heap.Interface.
func (a *agenda) Pop() any {
	last := len(*a) - 1
	x := (*a)[last]
	(*a)[last] = item{}
	*a = (*a)[:last]
	return x
}

func (a *agenda) add(i item) { heap.Push(a, i) }

// next returns the time of the first appointment; zero if there is none.
func (a *agenda) next() time.Time {
	if len(*a) == 0 {
		return time.Time{}
	}
	return (*a)[0].at
}

// take removes the first appointment if it is due.
func (a *agenda) take(now time.Time) (item, bool) {
	if len(*a) == 0 || now.Before((*a)[0].at) {
		return item{}, false
	}
	return heap.Pop(a).(item), true //nolint:forcetypeassert // holds items only
}
