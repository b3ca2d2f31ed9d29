package sim

import (
	"testing"

	. "github.com/onsi/gomega"
)

func TestDrawingIsRepeatable(t *testing.T) {
	g := NewWithT(t)
	for seed := range uint64(50) {
		g.Expect(Draw(seed)).To(Equal(Draw(seed)))
	}
	g.Expect(Draw(1)).NotTo(Equal(Draw(2)))
}

func TestScenariosSurviveJSON(t *testing.T) {
	g := NewWithT(t)
	for seed := range uint64(50) {
		s := Draw(seed)
		s.Why = "two polls at once"
		back, err := parse(s.text())
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(back).To(Equal(s))
	}
}

func TestEveryKindOfFaultIsDrawn(t *testing.T) {
	g := NewWithT(t)
	drawn := map[string]int{}
	seen := map[string]bool{}
	for seed := range uint64(1000) {
		s := Draw(seed)
		seen[s.Timings.Profile] = true
		for _, f := range s.Faults {
			drawn[f.Kind]++
		}
	}
	for _, k := range kinds() {
		g.Expect(drawn[k.name]).To(BeNumerically(">=", 3), k.name)
	}
	for _, p := range profiles() {
		g.Expect(seen).To(HaveKey(p))
	}
}

func TestScenariosKeepTheirBounds(t *testing.T) {
	g := NewWithT(t)
	overlaps := 0
	for seed := range uint64(300) {
		s := Draw(seed)
		g.Expect(s.Nodes).To(And(BeNumerically(">=", 3), BeNumerically("<=", 7)))
		g.Expect(s.Sessions).To(And(BeNumerically(">=", 20), BeNumerically("<=", 200)))
		c := s.Timings
		g.Expect(2 * c.RenewInterval).To(BeNumerically("<=", c.LeaseTTL))
		g.Expect(2 * c.HeartbeatInterval).To(BeNumerically("<=", c.HeartbeatTTL))
		g.Expect(c.RenewInterval + c.Margin + c.Timeout).To(BeNumerically("<", c.LeaseTTL))
		g.Expect(c.HeartbeatInterval + c.Timeout).To(BeNumerically("<", c.HeartbeatTTL))
		last := Span(0)
		for i, f := range s.Faults {
			g.Expect(f.At).To(BeNumerically(">=", last))
			last = f.At
			if i > 0 && s.Faults[i-1].At+s.Faults[i-1].Lasts > f.At {
				overlaps++
			}
			for _, calm := range s.Calms {
				g.Expect(f.At <= calm.At || f.At >= calm.Until).To(BeTrue(), "%s in the calm from %s to %s", f, calm.At, calm.Until)
			}
		}
	}
	g.Expect(overlaps).To(BeNumerically(">", 1000), "storms are more than one fault at a time")
}

func TestDocumentsDependOnTheirNumberAlone(t *testing.T) {
	g := NewWithT(t)
	s := Draw(3)
	fewer := s
	fewer.Sessions, fewer.Faults = 1, nil
	for i := range 40 {
		g.Expect(fewer.newDocument(i)).To(Equal(s.newDocument(i)))
	}
}
