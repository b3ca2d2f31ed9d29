package sim

import (
	"container/heap"
	"errors"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/onsi/gomega"

	"leasehold/eventlog"
	"leasehold/internal/bubble"
)

// Verdict is what became of a scenario.
type Verdict struct {
	Seed      uint64         `json:"seed"`
	Profile   string         `json:"profile"`
	Violation string         `json:"violation,omitempty"`
	At        Span           `json:"at"`                // of the violation, else the end
	History   []string       `json:"history,omitempty"` // the faults that hit, of a violation
	Log       []string       `json:"log,omitempty"`     // lines around a violation
	Faults    map[string]int `json:"faults"`            // that hit something, by kind
	Polls     int            `json:"polls"`
	Terms     int            `json:"terms"` // of leases
	Wall      Span           `json:"wall"`
}

// referee decides whether the contract holds. step is called after each fault and
// each end of one, calm at the end of each calm.
type referee interface {
	step()
	calm()
	err() error // the first violation
}

var errStopped = errors.New("an assertion of the kit failed")

// Run simulates the scenario. Call it in a bubble.
func Run(s Scenario, level eventlog.Level) (v Verdict) {
	begun := time.Now()
	v = Verdict{Seed: s.Seed, Profile: s.Timings.Profile}
	g := gomega.NewGomega(func(message string, _ ...int) {
		v.Violation = "kit: " + message
		panic(errStopped)
	})
	defer func() {
		r := recover()
		if err, ok := r.(error); r != nil && (!ok || !errors.Is(err, errStopped)) {
			panic(r)
		}
		if v.At == 0 {
			v.At = Span(time.Since(begun)).round()
		}
	}()
	w := newWorld(g, s, level)
	defer w.stop()
	j := newReferee(w)
	w.populate()
	if err := w.play(j); err != nil {
		v.Violation = err.Error()
	}
	v.At = w.now().round()
	w.tell(&v)
	return v
}

// tell fills in what the world knows.
func (w *world) tell(v *Verdict) {
	v.Faults = w.counts
	polls := w.fleet.Target.Polls("")
	v.Polls = len(polls)
	type term struct {
		session string
		token   any
	}
	terms := map[term]struct{}{}
	for _, p := range polls {
		terms[term{p.Session, p.Token}] = struct{}{}
	}
	v.Terms = len(terms)
	if path := os.Getenv("SIM_DUMP"); path != "" {
		all := slices.Concat(w.history(), w.lines(w.start, math.MaxInt))
		w.g.Expect(os.WriteFile(path, []byte(strings.Join(all, "\n")), 0o600)).To(gomega.Succeed())
	}
	if v.Violation != "" {
		v.History, v.Log = w.history(), w.lines(time.Now().Add(-w.scenario.Timings.LeaseTTL.D()), mostLines)
	}
}

// play lets all happen at its time.
func (w *world) play(j referee) error {
	a := newAgenda(w.scenario)
	for a.Len() > 0 {
		e := heap.Pop(a).(event)
		if e.at > w.scenario.Length {
			return nil
		}
		bubble.Sleep(time.Until(w.start.Add(e.at.D())))
		switch e.what {
		case begin:
			w.apply(a, e)
		case end:
			a.finish(e.id)
		case calmBegin:
			a.finishAll()
			w.cure()
		case calmEnd:
			j.calm()
		}
		bubble.Sleep(0)
		j.step()
		if err := j.err(); err != nil {
			return err
		}
	}
	return nil
}

// apply begins a fault and notes its end.
func (w *world) apply(a *agenda, e event) {
	k, ok := kindOf(e.fault.Kind)
	if !ok {
		panic("no such fault: " + e.fault.Kind)
	}
	hit, ended := k.do(w, e.fault)
	if hit == "" {
		return
	}
	w.counts[k.name]++
	i := len(w.applied)
	w.applied = append(w.applied, applied{Fault: e.fault, Hit: hit, Begun: time.Now()})
	if ended == nil {
		w.applied[i].Ended = time.Now()
		return
	}
	a.add(e.at+e.fault.Lasts, func() {
		ended()
		w.applied[i].Ended = time.Now()
	})
}

// stop ends the fleet and all that goes on beside it.
func (w *world) stop() {
	for _, x := range w.lessees {
		select {
		case <-x.done:
		default:
			close(x.done)
		}
	}
	w.fleet.Stop()
	for _, d := range w.drains {
		<-d.Done
	}
	for _, x := range w.lessees {
		<-x.over
	}
	w.people.Wait()
	bubble.Settle()
}
