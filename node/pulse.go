package node

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

const (
	// DefaultPulse is how often the actors are asked whether they handle messages.
	DefaultPulse = 2500 * time.Millisecond
	// deadAfter is how many times in a row nobody answered when an actor counts as stuck.
	deadAfter = 4
	// outlived is how long after the end of its lease a poll may still be in flight:
	// time to notice that its context has ended.
	outlived = time.Second
)

// part is an actor that is asked. It is judged by questions, not by time: a process that
// was frozen asks once when it goes on, however long that lasted.
type part struct {
	asked, heard atomic.Uint64
	missed       atomic.Int64 // questions in a row without an answer to any
}

// ask counts one more question, and returns how to answer it.
func (p *part) ask() (answer func()) {
	if p.heard.Load() < p.asked.Load() {
		p.missed.Add(1)
	} else {
		p.missed.Store(0)
	}
	number := p.asked.Add(1)
	return func() {
		p.heard.Store(number)
		p.missed.Store(0)
	}
}

// stuck reports whether the actor has not answered for so long.
func (p *part) stuck() bool { return p.missed.Load() >= deadAfter }

// feelPulse asks the actors over and over.
func (n *Node) feelPulse() {
	every := n.cfg.Gauge.Pulse
	if every <= 0 {
		every = DefaultPulse
	}
	n.repeat(every, func() { n.tree.Probe(n.gauges.renewer.ask(), n.gauges.deciding.ask()) })
}

// Moving says which of the node's actors handles no messages any more; nil: none does
// not. It needs a [Gauge].
func (n *Node) Moving() error {
	switch {
	case n.gauges.over.Load(): // on purpose
		return nil
	case n.gauges.renewer.stuck():
		return errors.New("the renewer handles no messages")
	case n.gauges.deciding.stuck():
		return errors.New("the membership actor handles no messages")
	default:
		return nil
	}
}

// Bounded says whether a poll is in flight whose lease ended a while ago: it ignores the
// end of its context, and another node may poll its session by now.
func (n *Node) Bounded() error {
	if late := n.flights.Overdue(time.Now(), outlived); late > 0 {
		return fmt.Errorf("%d polls go on although their leases ended more than %s ago", late, outlived)
	}
	return nil
}
