package sim

import (
	"sync"
	"sync/atomic"
	"time"
)

// pool runs scenarios on some workers at once.
type pool struct {
	size  int
	limit time.Duration // of real time, for one run
	idle  chan *worker  // nil: one may be started
}

func newPool(size int, limit time.Duration) *pool {
	p := &pool{size: size, limit: limit, idle: make(chan *worker, size)}
	for range size {
		p.idle <- nil
	}
	return p
}

// run waits for a worker and runs the scenario. It may be called from any goroutine.
func (p *pool) run(do job) Verdict {
	w := <-p.idle
	if w == nil {
		var err error
		if w, err = startWorker(); err != nil {
			p.idle <- nil
			return Verdict{Seed: do.Scenario.Seed, Violation: "no worker: " + err.Error()}
		}
	}
	v, ok := w.run(do, p.limit)
	if !ok {
		w.stop()
		w = nil
	}
	p.idle <- w
	return v
}

// close ends all workers. No run may be under way.
func (p *pool) close() {
	for range p.size {
		if w := <-p.idle; w != nil {
			w.stop()
		}
	}
}

// fails runs a scenario some times at once, and returns a verdict with a violation
// of the class, if any run gives one.
func (p *pool) fails(do job, kind string, tries int) (Verdict, bool) {
	var found atomic.Pointer[Verdict]
	var runs sync.WaitGroup
	for range tries {
		runs.Go(func() {
			if found.Load() != nil {
				return
			}
			if v := p.run(do); v.Violation != "" && class(v.Violation) == kind {
				found.Store(&v)
			}
		})
	}
	runs.Wait()
	if v := found.Load(); v != nil {
		return *v, true
	}
	return Verdict{}, false
}

// shrinker returns how shrink tries candidates: each some times, all at once, the
// first one that fails wins. After the deadline nothing fails any more.
func (p *pool) shrinker(kind string, tries int, deadline time.Time) tryAll {
	return func(candidates []Scenario) int {
		for from := 0; from < len(candidates); from += p.size {
			if time.Now().After(deadline) {
				return -1
			}
			part := candidates[from:min(len(candidates), from+p.size)]
			failed := make([]bool, len(part))
			var runs sync.WaitGroup
			for i, c := range part {
				runs.Go(func() { _, failed[i] = p.fails(job{Scenario: c}, kind, tries) })
			}
			runs.Wait()
			for i, f := range failed {
				if f {
					return from + i
				}
			}
		}
		return -1
	}
}
