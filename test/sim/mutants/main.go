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
	seeds   string
	minutes float64
	profile string
	jobs    int
	only    string
}

func main() {
	var o options
	flag.StringVar(&o.seeds, "seeds", "1,1001,2001", "first seeds: each mutant must be caught from all of them but one")
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
	err   error
	trial []trial
	took  time.Duration
}

// trial is one run of scenarios, from one first seed on.
type trial struct {
	heard  bool   // of a scenario's end
	caught string // by which check
	text   string
	at     time.Duration // of simulated time
}

// verdict is what the simulation prints of a scenario.
type verdict struct {
	Seed      uint64
	Violation string
	At        time.Duration
}

// try builds a mutant and lets it run until it is caught, from each first seed on.
func (o *outcome) try(ctx context.Context, b builder, n int, opt options) {
	begun := time.Now()
	defer func() { o.took = time.Since(begun) }()
	binary, err := b.build(ctx, n, o.mutant)
	if err != nil {
		o.err = err
		return
	}
	defer func() { _ = os.Remove(binary) }()
	for seed := range strings.SplitSeq(opt.seeds, ",") {
		cmd := exec.CommandContext(ctx, binary, "-test.run=^TestMutant$", "-test.timeout=30m")
		cmd.Dir = b.root + "/test/sim"
		cmd.Env = append(os.Environ(), "GOMAXPROCS=1", "GOGC=400",
			"SIM_MUTANT="+opt.profile, "SEED="+seed, fmt.Sprintf("MINUTES=%g", opt.minutes))
		t, err := follow(cmd)
		if err != nil {
			o.err = err
			return
		}
		o.trial = append(o.trial, t)
	}
}

// follow runs a binary and reads what it prints. What ends it without a verdict, and is
// not the judge's doing, is an error: it proves nothing about the mutant.
func follow(cmd *exec.Cmd) (trial, error) {
	var t trial
	var crash strings.Builder
	cmd.Stderr = &crash
	out, err := cmd.StdoutPipe()
	if err != nil {
		return t, err
	}
	if err := cmd.Start(); err != nil {
		return t, err
	}
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		t.read(lines.Text())
	}
	err = cmd.Wait()
	if _, why, ok := strings.Cut(crash.String(), "panic: "); ok {
		t.crashed(why)
	}
	switch {
	case t.caught != "":
		return t, nil
	case err != nil:
		return t, fmt.Errorf("it ended without a verdict: %w\n%.2000s%.2000s", err, t.text, crash.String())
	case !t.heard:
		return t, errors.New("it ended without a verdict")
	}
	return t, nil
}

// crashed takes in why the process came down, if the judge brought it down.
func (t *trial) crashed(why string) {
	if t.caught != "" {
		return
	}
	t.text = why
	if strings.HasPrefix(why, "no end: ") {
		t.caught = "no end"
	}
	if _, first, ok := strings.Cut(why, "first violation: "); ok && !strings.HasPrefix(first, "<nil>") {
		t.caught, _, _ = strings.Cut(first, ":")
	}
}

// mark begins a line that is meant for us.
const mark = "verdict "

func (t *trial) read(line string) {
	text, ok := strings.CutPrefix(line, mark)
	var v verdict
	if !ok || json.Unmarshal([]byte(text), &v) != nil {
		if why, ok := strings.CutPrefix(line, "panic: "); ok {
			t.crashed(why)
		}
		return
	}
	t.heard = true
	t.at += v.At
	if v.Violation != "" && t.caught == "" {
		t.caught, _, _ = strings.Cut(v.Violation, ":")
		t.text = fmt.Sprintf("seed %d: %s", v.Seed, v.Violation)
	}
}

func (o *outcome) line() string {
	if o.err != nil {
		return fmt.Sprintf("%-46s BROKEN: %v", o.name, o.err)
	}
	trials := make([]string, 0, len(o.trial))
	for _, t := range o.trial {
		caught := t.caught
		if caught == "" {
			caught = "-"
		}
		trials = append(trials, fmt.Sprintf("%4.1f min %-20s", t.at.Minutes(), caught))
	}
	return fmt.Sprintf("%-46s %s %4.0f s", o.name, strings.Join(trials, " "), o.took.Seconds())
}

// conclude says whether all is as it must be: a build that is whole is never convicted,
// the others are from all first seeds but one. Some faults need a rare coincidence to show,
// since another check stands behind the one that is broken.
func conclude(outcomes []outcome) error {
	var errs []error
	for _, o := range outcomes {
		if o.err != nil {
			errs = append(errs, o.err)
			continue
		}
		whole, missed := len(o.edits) == 0, 0
		for _, t := range o.trial {
			switch {
			case whole && t.caught != "":
				errs = append(errs, fmt.Errorf("the build that is whole was convicted: %s", t.text))
			case t.caught == "":
				missed++
			}
		}
		if !whole && (missed > 1 || missed == len(o.trial)) {
			errs = append(errs, fmt.Errorf("not caught: %s", o.name))
		}
	}
	return errors.Join(errs...)
}
