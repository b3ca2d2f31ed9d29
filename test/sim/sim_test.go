package sim

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"leasehold/eventlog"
)

// failures is where failing scenarios are kept.
const failures = "testdata/failures"

// number reads a setting.
func number(t *testing.T, name string, otherwise float64) float64 {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatalf("%s=%q is no number", name, text)
	}
	return n
}

// simulate runs a scenario in a bubble of its own.
func simulate(t *testing.T, do job) (v Verdict) {
	t.Helper()
	begun, level := time.Now(), eventlog.Warn
	if do.Loud {
		level = eventlog.Debug
	}
	// go-redis keeps timers for reuse, which belong to the bubble that made them: two
	// collections empty a sync.Pool.
	runtime.GC()
	runtime.GC()
	t.Run(strconv.FormatUint(do.Scenario.Seed, 10), func(t *testing.T) {
		synctest.Test(t, func(*testing.T) { v = Run(do.Scenario, level) })
	})
	v.Wall = Span(time.Since(begun))
	return v
}

// TestWorker is what a worker runs.
func TestWorker(t *testing.T) {
	if os.Getenv(workerEnv) == "" {
		t.Skip("a worker's")
	}
	if err := work(func(do job) Verdict { return simulate(t, do) }); err != nil {
		t.Fatal(err)
	}
}

func conduct(t *testing.T, c campaign) {
	t.Helper()
	c.Profile, c.Out = os.Getenv("SIM_PROFILE"), os.Stdout
	c.Workers = int(number(t, "SIM_WORKERS", float64(runtime.GOMAXPROCS(0))))
	c.Tries = int(number(t, "SIM_TRIES", 3))
	r := c.run()
	if path := os.Getenv("SIM_REPORT"); path != "" {
		if err := r.write(path); err != nil {
			t.Error(err)
		}
	}
	if n := len(r.Violations); n > 0 {
		t.Errorf("%d violations", n)
	}
}

// TestDraw prints the scenario of a seed, as a worker takes it.
func TestDraw(t *testing.T) {
	if os.Getenv("SIM_DRAW") == "" {
		t.Skip("set SIM_DRAW=1 and SEED")
	}
	s := Draw(uint64(number(t, "SEED", 1)))
	if p := os.Getenv("SIM_PROFILE"); p != "" {
		s = DrawAs(s.Seed, p)
	}
	fmt.Printf("%s", s.text())
}

// TestSmoke runs the first storms of a few small fleets that are always the same.
func TestSmoke(t *testing.T) {
	conduct(t, campaign{First: 1, Seeds: 10, Shrink: time.Minute, scenario: func(seed uint64) Scenario {
		s := Draw(seed)
		s.Sessions = min(s.Sessions, 20)
		return s.cut(s.Calms[min(2, len(s.Calms)-1)].Until)
	}})
}

// TestSim runs as many seeds as there is time for: see make sim.
func TestSim(t *testing.T) {
	if os.Getenv("SIM") == "" {
		t.Skip("set SIM=1")
	}
	c := campaign{
		First: uint64(number(t, "SEED", 0)), Seeds: int(number(t, "SEEDS", 0)), Hours: number(t, "HOURS", 0),
		Wall:   time.Duration(number(t, "MINUTES", 0) * float64(time.Minute)),
		Shrink: time.Duration(number(t, "SIM_SHRINK", 10) * float64(time.Minute)), Keep: failures,
	}
	if length := number(t, "LENGTH", 0); length > 0 {
		c.scenario = func(seed uint64) Scenario { return Draw(seed).within(Span(length * float64(time.Hour))) }
	}
	bounded := c.Seeds > 0 || c.Hours > 0 || c.Wall > 0
	switch {
	case os.Getenv("SEED") == "":
		c.First = uint64(rand.Uint32()) * 10_000 // room for an overnight run
		if !bounded {
			c.Wall = 2 * time.Minute
		}
	case !bounded:
		c.Seeds = 1
	}
	t.Logf("first seed %d", c.First)
	conduct(t, c)
}

// TestFailures runs all scenarios that failed once.
func TestFailures(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join(failures, "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	p := newPool(runtime.GOMAXPROCS(0), runLimit)
	defer p.close()
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			s, err := parse(text)
			if err != nil {
				t.Fatal(err)
			}
			for range 2 {
				if v := p.run(job{s, true}); v.Violation != "" {
					show(os.Stdout, s, v)
					t.Fatal(v.Violation)
				}
			}
		})
	}
}
