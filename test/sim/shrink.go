package sim

import (
	"regexp"
	"slices"
	"strings"
	"time"
)

// tryAll runs candidates, at once if it can, and returns the index of the first
// that still fails, -1 if none does.
type tryAll func(candidates []Scenario) int

// shrink looks for the shortest scenario that still fails: no trouble after the
// violation, the fewest faults, calms, sessions and nodes, the earliest times.
// failedAt is when the violation came.
func shrink(s Scenario, failedAt Span, try tryAll) Scenario {
	s = keepIf(s, s.cut(failedAt), try)
	for {
		before := len(s.Faults) + len(s.Calms) + s.Sessions + s.Nodes
		s = fewerFaults(s, try)
		s = fewerCalms(s, try)
		s = smaller(s, try)
		if len(s.Faults)+len(s.Calms)+s.Sessions+s.Nodes == before {
			return sooner(s, try)
		}
	}
}

// keepIf returns the candidate if it fails, else what it was made of.
func keepIf(s, candidate Scenario, try tryAll) Scenario {
	if try([]Scenario{candidate}) == 0 {
		return candidate
	}
	return s
}

// cut drops all that comes after a moment.
func (s Scenario) cut(at Span) Scenario {
	s.Length = min(s.Length, at+Span(time.Second))
	s.Faults = slices.DeleteFunc(slices.Clone(s.Faults), func(f Fault) bool { return f.At > s.Length })
	s.Calms = slices.DeleteFunc(slices.Clone(s.Calms), func(c Calm) bool { return c.At > s.Length })
	return s
}

// within cuts after the last calm that ends within a length, so that what the last
// storm left behind is still judged. A fleet that has no calm by then stays whole.
func (s Scenario) within(length Span) Scenario {
	until := Span(0)
	for _, c := range s.Calms {
		if c.Until <= length {
			until = max(until, c.Until)
		}
	}
	if until == 0 {
		return s
	}
	return s.cut(until)
}

// fewerFaults is delta debugging: it takes away parts of the list, large ones
// first, for as long as what is left fails.
func fewerFaults(s Scenario, try tryAll) Scenario {
	parts := 2
	for len(s.Faults) > 0 {
		parts = min(parts, len(s.Faults))
		candidates := make([]Scenario, parts)
		for i := range candidates {
			from, to := len(s.Faults)*i/parts, len(s.Faults)*(i+1)/parts
			candidates[i] = s
			candidates[i].Faults = slices.Concat(s.Faults[:from], s.Faults[to:])
		}
		i := try(candidates)
		switch {
		case i >= 0:
			s = candidates[i]
			parts = max(2, parts-1)
		case parts == len(s.Faults):
			return s
		default:
			parts = min(2*parts, len(s.Faults))
		}
	}
	return s
}

// fewerCalms takes calms away one by one.
func fewerCalms(s Scenario, try tryAll) Scenario {
	for i := 0; i < len(s.Calms); {
		candidate := s
		candidate.Calms = slices.Delete(slices.Clone(s.Calms), i, i+1)
		if try([]Scenario{candidate}) == 0 {
			s = candidate
		} else {
			i++
		}
	}
	return s
}

// smaller takes the smallest population that fails.
func smaller(s Scenario, try tryAll) Scenario {
	var candidates []Scenario
	for n := 1; n < s.Sessions; n += max(1, n/2) {
		c := s
		c.Sessions = n
		candidates = append(candidates, c)
	}
	if i := try(candidates); i >= 0 {
		s = candidates[i]
	}
	candidates = nil
	for n := 1; n < s.Nodes; n++ {
		c := s
		c.Nodes = n
		candidates = append(candidates, c)
	}
	if i := try(candidates); i >= 0 {
		s = candidates[i]
	}
	return s
}

// sooner moves everything to the front, as far as it goes.
func sooner(s Scenario, try tryAll) Scenario {
	first := s.Length
	for _, f := range s.Faults {
		first = min(first, f.At)
	}
	for _, c := range s.Calms {
		first = min(first, c.At)
	}
	var candidates []Scenario
	for _, left := range []Span{0, s.Timings.LeaseTTL / 2, 2 * s.Timings.LeaseTTL, s.Timings.settle()} {
		if left < first {
			candidates = append(candidates, s.earlier(first-left))
		}
	}
	if i := try(candidates); i >= 0 {
		return candidates[i]
	}
	return s
}

func (s Scenario) earlier(by Span) Scenario {
	s.Length -= by
	s.Faults, s.Calms = slices.Clone(s.Faults), slices.Clone(s.Calms)
	for i := range s.Faults {
		s.Faults[i].At -= by
	}
	for i := range s.Calms {
		s.Calms[i].At -= by
		s.Calms[i].Until -= by
	}
	return s
}

var notWords = regexp.MustCompile(`[^a-z]+`)

// class names a sort of violation: its text up to the first colon, words only.
// What is shrunk must stay of its class.
func class(violation string) string {
	head, _, _ := strings.Cut(violation, ":")
	var words []string
	for word := range strings.FieldsSeq(strings.ToLower(head)) {
		if !strings.ContainsAny(word, "0123456789") { // a name or a figure
			words = append(words, notWords.ReplaceAllString(word, ""))
		}
	}
	return strings.Join(words, "-")
}
