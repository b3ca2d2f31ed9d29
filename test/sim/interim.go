package sim

import (
	"fmt"
	"strings"
	"time"
)

// interim is the least that must hold.
type interim struct {
	w     *world
	fault error

	excused int // overlaps
}

// forgot says whether Redis lost everything lately, which the fleet can't always
// know of.
func (i *interim) forgot() bool {
	for _, a := range i.w.applied {
		lost := a.Kind == "flush" || a.Kind == "restart empty" || a.Kind == "states deleted" || a.Kind == "target hung"
		if lost && time.Since(a.Begun) < 5*i.w.scenario.Timings.LeaseTTL.D()+a.By.D() {
			return true
		}
	}
	return false
}

func newReferee(w *world) referee { return &interim{w: w} }

func (i *interim) err() error { return i.fault }

func (i *interim) step() {
	if o := i.w.fleet.Target.Overlaps(); len(o) > i.excused && i.fault == nil {
		if i.forgot() {
			i.excused = len(o)
			return
		}
		i.fault = fmt.Errorf("two polls at once: %s", strings.Join(o, "; "))
	}
}

func (i *interim) calm() {
	since := time.Now().Add(-2*i.w.scenario.Timings.Longest.D() - time.Second)
	polls := i.w.fleet.Target.Since(since)
	for _, d := range i.w.docs {
		if d.changed.After(since) {
			continue
		}
		if n := len(polls[d.ID]); d.polled() && n == 0 {
			i.fault = fmt.Errorf("%s was not polled in a calm", d.ID)
		} else if !d.polled() && n > 0 {
			i.fault = fmt.Errorf("%s was polled although it may not be", d.ID)
		}
	}
	loads := i.w.fleet.Loads()
	least, most := 1<<30, 0
	for _, m := range i.w.nodes {
		least, most = min(least, loads[m.Name]), max(most, loads[m.Name])
	}
	if most-least > 1 && i.fault == nil {
		i.fault = fmt.Errorf("unbalanced: %v", loads)
	}
}
