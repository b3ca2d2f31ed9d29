package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strings"
	"sync"
	"time"
)

type options struct {
	seed    uint64
	minutes float64
	profile string
	jobs    int
	only    string
}

func main() {
	var o options
	flag.Uint64Var(&o.seed, "seed", 1, "first seed")
	flag.Float64Var(&o.minutes, "minutes", 60, "of simulated time within which a mutant must be caught")
	flag.StringVar(&o.profile, "profile", "dense", "of the scenarios")
	flag.IntVar(&o.jobs, "jobs", runtime.NumCPU(), "how many at once")
	flag.StringVar(&o.only, "only", "", "mutants whose name contains this")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1) //nolint:gocritic // stop is for the goroutine of the signal, which ends too
	}
}

func run(ctx context.Context, o options) error {
	root, err := os.Getwd()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	b := builder{root: root, dir: dir}
	outcomes := make([]outcome, 0, len(mutants()))
	for _, m := range mutants() {
		if strings.Contains(m.name, o.only) {
			outcomes = append(outcomes, outcome{mutant: m})
		}
	}
	var jobs sync.WaitGroup
	slots := make(chan struct{}, o.jobs)
	for i := range outcomes {
		slots <- struct{}{}
		jobs.Go(func() {
			outcomes[i].try(ctx, b, i, o)
			fmt.Println(outcomes[i].line())
			<-slots
		})
	}
	jobs.Wait()
	return conclude(outcomes)
}

// outcome is what became of a mutant.
type outcome struct {
	mutant
	err    error
	caught string // by which check
	text   string
	seeds  int
	at     time.Duration // of simulated time
	took   time.Duration
}

// verdict is what the simulation prints of a scenario.
type verdict struct {
	Seed      uint64
	Violation string
	At        time.Duration
}

// try builds a mutant and lets it run until it is caught.
func (o *outcome) try(ctx context.Context, b builder, n int, opt options) {
	begun := time.Now()
	defer func() { o.took = time.Since(begun) }()
	binary, err := b.build(ctx, n, o.mutant)
	if err != nil {
		o.err = err
		return
	}
	cmd := exec.CommandContext(ctx, binary, "-test.run=^TestMutant$", "-test.timeout=30m")
	cmd.Dir = b.root + "/test/sim"
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1", "GOGC=400",
		"SIM_MUTANT="+opt.profile, fmt.Sprintf("SEED=%d", opt.seed), fmt.Sprintf("MINUTES=%g", opt.minutes))
	var crash strings.Builder
	cmd.Stderr = &crash
	out, err := cmd.StdoutPipe()
	if err != nil {
		o.err = err
		return
	}
	if o.err = cmd.Start(); o.err != nil {
		return
	}
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		o.read(lines.Text())
	}
	if err := cmd.Wait(); err != nil && o.caught == "" {
		_, why, _ := strings.Cut(crash.String(), "panic: ")
		o.caught, o.text = crashed(why), crash.String()
	}
	_ = os.Remove(binary)
}

// crashed names the check that brought the process down.
func crashed(why string) string {
	check := "crash"
	if strings.HasPrefix(why, "no end") {
		check = "no end"
	}
	if _, first, ok := strings.Cut(why, "first violation: "); ok && !strings.HasPrefix(first, "<nil>") {
		check, _, _ = strings.Cut(first, ":")
	}
	return check
}

// mark begins a line that is meant for us.
const mark = "verdict "

func (o *outcome) read(line string) {
	text, ok := strings.CutPrefix(line, mark)
	var v verdict
	if !ok || json.Unmarshal([]byte(text), &v) != nil {
		if why, ok := strings.CutPrefix(line, "panic: "); ok && o.caught == "" {
			o.caught, o.text = crashed(why), why
		}
		return
	}
	o.seeds++
	o.at += v.At
	if v.Violation != "" && o.caught == "" {
		o.caught, _, _ = strings.Cut(v.Violation, ":")
		o.text = fmt.Sprintf("seed %d: %s", v.Seed, v.Violation)
	}
}

func (o *outcome) line() string {
	caught := o.caught
	switch {
	case o.err != nil:
		caught = "BROKEN: " + o.err.Error()
	case caught == "":
		caught = "-"
	}
	return fmt.Sprintf("%-46s %-20s %3d seeds %6.1f simulated minutes %4.0f s", o.name, caught, o.seeds, o.at.Minutes(), o.took.Seconds())
}

// conclude says whether all is as it must be: the first build whole, the others not.
func conclude(outcomes []outcome) error {
	var errs []error
	for _, o := range outcomes {
		whole := len(o.edits) == 0
		switch {
		case o.err != nil:
			errs = append(errs, o.err)
		case whole && o.caught != "":
			errs = append(errs, fmt.Errorf("the build that is whole was convicted: %s", o.text))
		case !whole && o.caught == "":
			errs = append(errs, fmt.Errorf("not caught: %s", o.name))
		}
	}
	return errors.Join(errs...)
}
