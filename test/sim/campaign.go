package sim

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// campaign runs seeds from one on, until something of it is enough.
type campaign struct {
	First   uint64
	Seeds   int           // zero: no bound
	Hours   float64       // of fleets; zero: no bound
	Wall    time.Duration // zero: no bound
	Profile string        // empty: drawn
	Workers int
	Tries   int           // per candidate while shrinking
	Shrink  time.Duration // for each class of violation
	Keep    string        // where failures are kept; empty: nowhere
	Out     io.Writer

	scenario func(seed uint64) Scenario // nil: drawn
}

const (
	progressEvery = 10 * time.Second
	runLimit      = 10 * time.Minute
	// maxViolations end a campaign: more of them say nothing more.
	maxViolations = 20
	maxShrunk     = 5
)

// run plays the campaign and returns its report.
func (c campaign) run() *report {
	p := newPool(c.Workers, runLimit)
	defer p.close()
	r := newReport(c.First)
	stop := c.watch(r)
	var runs sync.WaitGroup
	seeds := make(chan uint64)
	for range c.Workers {
		runs.Go(func() {
			for seed := range seeds {
				v := p.run(job{Scenario: c.draw(seed)})
				r.add(v)
				if v.Violation != "" {
					fmt.Fprintf(c.Out, "VIOLATION seed %d (%s) at %s: %s\n", v.Seed, v.Profile, v.At, v.Violation)
				}
			}
		})
	}
	for seed := c.First; !c.enough(r, seed); seed++ {
		seeds <- seed
	}
	close(seeds)
	runs.Wait()
	close(stop)
	fmt.Fprintln(c.Out, r.line())
	c.explain(p, r)
	return r
}

func (c campaign) draw(seed uint64) Scenario {
	switch {
	case c.scenario != nil:
		return c.scenario(seed)
	case c.Profile != "":
		return DrawAs(seed, c.Profile)
	}
	return Draw(seed)
}

func (c campaign) enough(r *report, seed uint64) bool {
	return (c.Seeds > 0 && seed-c.First >= uint64(c.Seeds)) || (c.Hours > 0 && r.hours() >= c.Hours) ||
		(c.Wall > 0 && time.Since(r.begun) >= c.Wall) || r.violations() >= maxViolations
}

// watch prints progress until its channel is closed.
func (c campaign) watch(r *report) chan struct{} {
	stop := make(chan struct{})
	go func() {
		ticker := time.NewTicker(progressEvery)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				fmt.Fprintln(c.Out, r.line())
			case <-stop:
				return
			}
		}
	}()
	return stop
}

// explain shrinks one violation of each class, shows it and keeps it.
func (c campaign) explain(p *pool, r *report) {
	seen := map[string]bool{}
	for _, v := range r.Violations {
		kind := class(v.Violation)
		if seen[kind] || len(seen) >= maxShrunk {
			continue
		}
		seen[kind] = true
		s, v := c.smallest(p, v, kind)
		show(c.Out, s, v)
		if c.Keep == "" {
			continue
		}
		path := filepath.Join(c.Keep, fmt.Sprintf("%s-%d.json", kind, s.Seed))
		if err := errors.Join(os.MkdirAll(c.Keep, 0o755), os.WriteFile(path, s.text(), 0o600)); err != nil {
			fmt.Fprintln(c.Out, err)
			continue
		}
		fmt.Fprintf(c.Out, "kept as %s\n", path)
	}
}

// smallest shrinks, and returns what is left with a verdict on it.
func (c campaign) smallest(p *pool, v Verdict, kind string) (Scenario, Verdict) {
	s := c.draw(v.Seed)
	s.Why = v.Violation
	again, ok := p.fails(job{s, true}, kind, c.Tries)
	if !ok {
		s.Why += " (not seen again)"
		return s, v
	}
	small := shrink(s, again.At, p.shrinker(kind, c.Tries, time.Now().Add(c.Shrink)))
	if last, ok := p.fails(job{small, true}, kind, 2*c.Tries); ok {
		again = last
	}
	small.Why = again.Violation
	return small, again
}

// show prints what led to a violation, and how to see it again.
func show(out io.Writer, s Scenario, v Verdict) {
	fmt.Fprintf(out, "\n%s\nseed %d, %s, %d nodes, %d sessions, at %s\n", v.Violation, s.Seed, s.Timings.Profile, s.Nodes, s.Sessions, v.At)
	for _, f := range s.Faults {
		fmt.Fprintf(out, "  %s\n", f)
	}
	for _, line := range v.Log {
		fmt.Fprintf(out, "    %s\n", line)
	}
	fmt.Fprintf(out, "again: make sim SEED=%d SIM_PROFILE=%s\n", s.Seed, s.Timings.Profile)
}
