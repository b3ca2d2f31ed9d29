package sim

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// single is a small, dense fleet that meets one fault.
func single(f Fault) Scenario {
	s := DrawAs(5, dense)
	s.Timings.Reconcile = Span(3 * time.Second)
	t := s.Timings
	calm := Calm{At: f.At + 2*t.LeaseTTL, Until: f.At + 2*t.LeaseTTL + t.settle() + 2*t.Longest}
	s.Nodes, s.Sessions, s.Length = 3, 8, calm.Until+Span(time.Second)
	s.Faults, s.Calms = []Fault{f}, []Calm{{At: 1, Until: f.At - 1}, calm}
	return s
}

// aspects are the faults that a kind can draw which differ by more than a number.
func aspects(f Fault) []Fault {
	var all []Fault
	with := func(change func(f *Fault)) {
		changed := f
		change(&changed)
		all = append(all, changed)
	}
	switch f.Kind {
	case "errors":
		for _, text := range []string{"OOM", "MISCONF", "BUSY", "LOADING", "READONLY"} {
			with(func(f *Fault) { f.Text, f.Count = text, 0 })
		}
		with(func(f *Fault) { f.Text, f.Count = "READONLY", 1 })
		for i := range mayBeDenied {
			with(func(f *Fault) { f.Text, f.Count = "NOPERM", i })
		}
	case "redis down":
		for how := range backs {
			with(func(f *Fault) { f.Count = how })
		}
	case "events forged":
		for name := range uint32(4) {
			with(func(f *Fault) { f.Which, f.Count = 4+name, 50 })
		}
	default:
		all = append(all, f)
	}
	return all
}

// TestEachFaultAlone has a small fleet meet every kind of fault by itself, in each of its
// aspects: it hits something, ends, and is survived.
func TestEachFaultAlone(t *testing.T) {
	p := newPool(runtime.GOMAXPROCS(0), runLimit)
	defer p.close()
	var runs sync.WaitGroup
	for _, k := range kinds() {
		base := single(Fault{})
		drawn := Fault{At: base.Timings.settle() + 2*base.Timings.Longest, Kind: k.name, Which: 7, Lasts: base.Timings.LeaseTTL}
		if k.draw != nil {
			for seed := uint64(0); drawn.Lasts == 0 || seed == 0; seed++ {
				drawn.Lasts = base.Timings.LeaseTTL
				k.draw(newRand(seed), base.Timings, &drawn)
			}
		}
		for _, f := range aspects(drawn) {
			runs.Go(func() { survives(t, p, f) })
		}
	}
	runs.Wait()
}

func survives(t *testing.T, p *pool, f Fault) {
	t.Helper()
	v := p.run(job{Scenario: single(f)})
	if v.Violation != "" {
		t.Errorf("%s: %s", f, v.Violation)
	}
	if v.Faults[f.Kind] != 1 {
		t.Errorf("%s hit nothing: %v", f, v.Faults)
	}
	if v.Polls == 0 || v.Terms == 0 {
		t.Errorf("%s: %d polls in %d terms", f, v.Polls, v.Terms)
	}
}

// The first thaw would wake it, and the judge would take it to stand still.
func TestAFreezeOfAFrozenNodeHitsNothing(t *testing.T) {
	g := NewWithT(t)
	p := newPool(1, runLimit)
	defer p.close()
	s := single(Fault{At: Span(time.Minute), Kind: "freeze", Which: 7, Lasts: Span(2 * time.Second)})
	second, third := s.Faults[0], s.Faults[0]
	second.At += Span(time.Second)
	third.At += Span(3 * time.Second)
	s.Faults = append(s.Faults, second, third)
	g.Expect(p.run(job{Scenario: s}).Faults).To(HaveKeyWithValue("freeze", 2))
}

func TestAWorkerThatCrashesIsAViolationOfItsScenario(t *testing.T) {
	g := NewWithT(t)
	p := newPool(1, runLimit)
	defer p.close()
	s := single(Fault{At: Span(time.Second), Kind: "no kind of fault"})
	v := p.run(job{Scenario: s})
	g.Expect(v.Seed).To(Equal(s.Seed))
	g.Expect(v.Violation).To(HavePrefix("the process ended: panic: no such fault: no kind of fault"))
	v = p.run(job{Scenario: single(Fault{At: Span(time.Minute), Kind: "flags gone"})})
	g.Expect(v.Violation).To(BeEmpty(), "the next scenario has a worker of its own")
}

func TestAWorkerThatHangsIsAViolation(t *testing.T) {
	g := NewWithT(t)
	p := newPool(1, time.Millisecond)
	defer p.close()
	v := p.run(job{Scenario: DrawAs(1, dense)})
	g.Expect(v.Violation).To(HavePrefix("no end: "))
	g.Expect(v.Log).NotTo(BeEmpty(), "where it hangs")
}

func TestACampaignCountsShrinksAndKeeps(t *testing.T) {
	g := NewWithT(t)
	var out bytes.Buffer
	c := campaign{
		First: 1, Seeds: 2, Workers: 1, Tries: 1, Shrink: time.Minute, Keep: filepath.Join(t.TempDir(), "failures"), Out: &out,
		scenario: func(seed uint64) Scenario {
			s := single(Fault{At: Span(time.Minute), Kind: "flags gone"})
			if s.Seed = seed; seed == 2 {
				s.Faults = append(s.Faults, Fault{At: Span(70 * time.Second), Kind: "broken"})
			}
			return s
		},
	}
	r := c.run()
	g.Expect(r.Seeds).To(Equal(2))
	g.Expect(r.Violations).To(HaveLen(1))
	g.Expect(r.Violations[0].Seed).To(Equal(uint64(2)))
	g.Expect(r.Faults).To(HaveKeyWithValue("flags gone", 1))
	g.Expect(r.Polls).To(BeNumerically(">", 0))

	kept, err := os.ReadFile(filepath.Join(c.Keep, "the-process-ended-2.json"))
	g.Expect(err).NotTo(HaveOccurred())
	s, err := parse(kept)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(s.Faults).To(HaveLen(1))
	g.Expect(s.Faults[0].Kind).To(Equal("broken"))
	g.Expect(out.String()).To(ContainSubstring("make sim SEED=2"))

	path := filepath.Join(t.TempDir(), "report.json")
	g.Expect(r.write(path)).To(Succeed())
	text, err := os.ReadFile(path)
	g.Expect(err).NotTo(HaveOccurred())
	var read map[string]any
	g.Expect(json.Unmarshal(text, &read)).To(Succeed())
	g.Expect(read).To(HaveKeyWithValue("seeds", BeNumerically("==", 2)))
}

func TestFaultsEndWithTheCalm(t *testing.T) {
	g := NewWithT(t)
	a := newAgenda(Scenario{})
	var ended []string
	a.add(Span(time.Minute), func() { ended = append(ended, "first") })
	a.add(Span(time.Second), func() { ended = append(ended, "second") })
	a.finishAll()
	a.finishAll()
	g.Expect(ended).To(Equal([]string{"first", "second"}))
}

func TestServersRefuseWhatTheyWould(t *testing.T) {
	g := NewWithT(t)
	for text, want := range map[string]struct{ outer, inner, passes []string }{
		"OOM":      {[]string{"SET"}, []string{"HSET", "SET", "XADD"}, []string{"EVALSHA", "DEL", "PEXPIRE", "GET", "PING"}},
		"MISCONF":  {[]string{"SET", "DEL", "PING"}, []string{"HSET", "PEXPIRE", "DEL"}, []string{"EVALSHA", "GET", "PUBLISH"}},
		"BUSY":     {[]string{"SET", "GET", "PING", "EVALSHA"}, nil, nil},
		"LOADING":  {[]string{"SET", "GET", "EVALSHA"}, nil, []string{"INFO", "SUBSCRIBE"}},
		"READONLY": {[]string{"SET", "DEL", "EVALSHA"}, []string{"HSET", "PEXPIRE"}, []string{"GET", "SCAN"}},
	} {
		r := refusalOf(Fault{Text: text})
		g.Expect(r.text).To(HavePrefix(text + " "))
		for _, cmd := range want.outer {
			g.Expect(r.outer(cmd)).To(BeTrue(), "%s %s", text, cmd)
		}
		for _, cmd := range want.inner {
			g.Expect(r.inner(cmd)).To(BeTrue(), "%s %s in a script", text, cmd)
		}
		for _, cmd := range want.passes {
			g.Expect(r.outer(cmd)).To(BeFalse(), "%s %s", text, cmd)
		}
	}
}
