package sim

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// synthetic fails where a kill comes after a drain, with at least three sessions.
func synthetic(s Scenario) bool {
	drained := false
	for _, f := range s.Faults {
		drained = drained || f.Kind == "drain"
		if f.Kind == "kill" && drained && s.Sessions >= 3 {
			return true
		}
	}
	return false
}

func tryEach(runs *int) tryAll {
	return func(candidates []Scenario) int {
		for i, c := range candidates {
			*runs++
			if synthetic(c) {
				return i
			}
		}
		return -1
	}
}

func TestShrinkingFindsTheShortest(t *testing.T) {
	g := NewWithT(t)
	shrunk := 0
	for seed := range uint64(60) {
		s := Draw(seed)
		if !synthetic(s) {
			continue
		}
		shrunk++
		runs := 0
		small := shrink(s, s.Length, tryEach(&runs))
		g.Expect(small.Faults).To(HaveLen(2))
		g.Expect(small.Faults[0].Kind).To(Equal("drain"))
		g.Expect(small.Faults[1].Kind).To(Equal("kill"))
		g.Expect(small.Sessions).To(Equal(3))
		g.Expect(small.Nodes).To(Equal(1))
		g.Expect(small.Calms).To(BeEmpty())
		g.Expect(small.Faults[0].At).To(BeZero())
		g.Expect(runs).To(BeNumerically("<", 1000))
	}
	g.Expect(shrunk).To(BeNumerically(">", 10))
}

func TestShrinkingDropsWhatCameLater(t *testing.T) {
	g := NewWithT(t)
	s := Scenario{
		Length: Span(time.Hour), Nodes: 3, Sessions: 9,
		Faults: []Fault{{At: Span(time.Minute), Kind: "kill"}, {At: Span(10 * time.Minute), Kind: "drain"}},
		Calms:  []Calm{{At: Span(2 * time.Minute), Until: Span(3 * time.Minute)}, {At: Span(30 * time.Minute)}},
	}
	cut := s.cut(Span(5 * time.Minute))
	g.Expect(cut.Faults).To(Equal(s.Faults[:1]))
	g.Expect(cut.Calms).To(Equal(s.Calms[:1]))
	g.Expect(cut.Length).To(Equal(Span(5*time.Minute + time.Second)))
	g.Expect(s.Faults).To(HaveLen(2), "the original stays")
}

func TestAFleetIsCutAfterACalm(t *testing.T) {
	g := NewWithT(t)
	s := Scenario{
		Length: Span(time.Hour),
		Calms: []Calm{
			{At: Span(2 * time.Minute), Until: Span(3 * time.Minute)},
			{At: Span(20 * time.Minute), Until: Span(22 * time.Minute)},
			{At: Span(30 * time.Minute), Until: Span(33 * time.Minute)},
		},
	}
	g.Expect(s.within(Span(22 * time.Minute))).To(Equal(s.cut(Span(22 * time.Minute))))
	g.Expect(s.within(Span(32*time.Minute))).To(Equal(s.cut(Span(22*time.Minute))), "no calm is left unfinished")
	g.Expect(s.within(Span(2*time.Minute))).To(Equal(s), "none is over by then")
}

func TestWhatDoesNotFailAgainStaysAsItIs(t *testing.T) {
	g := NewWithT(t)
	s := Draw(1)
	g.Expect(shrink(s, s.Length, func([]Scenario) int { return -1 })).To(Equal(s))
}

func TestViolationsOfOneClass(t *testing.T) {
	g := NewWithT(t)
	g.Expect(class("two polls at once: d1 by node1-2")).To(Equal("two-polls-at-once"))
	g.Expect(class("the process ended: panic: x")).To(Equal("the-process-ended"))
	g.Expect(class("fail closed: a")).NotTo(Equal(class("checked: a")))
}
