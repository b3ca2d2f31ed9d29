package sim

import (
	"fmt"
	"strings"
	"time"

	"github.com/onsi/gomega"

	"leasehold/internal/bubble"
)

// Run simulates a fleet for a while and returns what went wrong, with the faults
// that led to it.
func Run(g gomega.Gomega, seed uint64, length time.Duration) error {
	w := newWorld(g, seed)
	defer w.fleet.Stop()
	defer w.dump()
	kinds := faults()
	bubble.Sleep(10 * time.Second)
	for time.Since(w.start) < length {
		for range 1 + w.rnd.IntN(4) { // a storm
			f := kinds[w.rnd.IntN(len(kinds))]
			end := f.do(w)
			w.sleep(2 * ttl)
			if end != nil {
				end()
				w.note("end of %s", f.name)
			}
			if err := w.overlaps(); err != nil {
				return err
			}
		}
		if err := w.calm(); err != nil {
			return err
		}
	}
	return nil
}

func (w *world) overlaps() error {
	if o := w.fleet.Target.Overlaps(); len(o) > 0 {
		return fmt.Errorf("two polls at once: %s\n%s", strings.Join(o, "; "), w.history())
	}
	return nil
}

// calm lets the fleet settle and checks that nothing was lost.
func (w *world) calm() error {
	w.note("calm")
	bubble.Sleep(3*ttl + 12*time.Second) // a hold-off, a scan, moves
	at := time.Now()
	bubble.Sleep(13 * time.Second)
	if err := w.overlaps(); err != nil {
		return err
	}
	polls := w.fleet.Target.Since(at)
	for id, d := range w.docs {
		idle := d.paused || d.broken
		if n := len(polls[id]); !idle && n == 0 {
			return fmt.Errorf("%s was not polled in 13 s of calm\n%s", id, w.history())
		} else if idle && n > 0 {
			return fmt.Errorf("%s was polled although it may not be\n%s", id, w.history())
		}
	}
	for id := range polls {
		if !w.has(id) {
			return fmt.Errorf("%s was polled although it is gone\n%s", id, w.history())
		}
	}
	return w.balance()
}

func (w *world) balance() error {
	loads := w.fleet.Loads()
	least, most := 1<<30, 0
	for _, m := range w.nodes {
		least, most = min(least, loads[m.Name]), max(most, loads[m.Name])
	}
	if most-least > 1 {
		return fmt.Errorf("unbalanced: %v\n%s", loads, w.history())
	}
	return nil
}
