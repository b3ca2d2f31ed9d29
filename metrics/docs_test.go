package metrics

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"leasehold/internal/doctest"
)

func TestTheDocumentationIsMadeFromTheMetrics(t *testing.T) {
	doctest.Section(t, "../docs/metrics.md", "metrics", table(t, full(t)))
}

// table lists the product's own metrics, with the values that their labels have.
func table(t *testing.T, m *Metrics) string {
	t.Helper()
	families, err := m.Gatherer().Gather()
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString("| metric | type | labels | says |\n|---|---|---|---|\n")
	for _, f := range families {
		if !strings.HasPrefix(f.GetName(), prefix) {
			continue
		}
		values := make(map[string][]string)
		for _, one := range f.GetMetric() {
			for _, l := range one.GetLabel() {
				if f.GetName() == prefix+"build_info" { // of this build
					values[l.GetName()] = nil
				} else if !slices.Contains(values[l.GetName()], l.GetValue()) {
					values[l.GetName()] = append(values[l.GetName()], l.GetValue())
				}
			}
		}
		var labels []string
		for _, name := range slices.Sorted(maps.Keys(values)) {
			text := "`" + name + "`"
			if len(values[name]) > 0 {
				text += ": " + strings.Join(values[name], ", ")
			}
			labels = append(labels, text)
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", f.GetName(), strings.ToLower(f.GetType().String()), strings.Join(labels, "; "), f.GetHelp())
	}
	return b.String()
}
