package cli

import (
	"io"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"

	"leasehold/fleetview"
)

// writeExposition writes the counts in the text format of Prometheus. Their names are
// not those of the nodes' own metrics: both may be in one database.
func writeExposition(w io.Writer, v fleetview.Verdict, sum *fleetview.Summary) error {
	registry := prometheus.NewRegistry()
	gauge := func(name, help string, value float64) {
		g := prometheus.NewGauge(prometheus.GaugeOpts{Name: "leasehold_check_" + name, Help: help})
		g.Set(value)
		registry.MustRegister(g)
	}
	gauge("level", "What the check came to: 0 OK, 1 warning, 2 critical.", float64(v.Level))
	gauge("nodes", "Nodes that are alive.", float64(sum.Members))
	gauge("overdue_sessions", "Sessions that are overdue by more than two of their intervals.", float64(sum.Late))
	gauge("overdue_worst_seconds", "By how long the worst one is overdue.", sum.Latest.Seconds())
	gauge("spread", "How many more sessions the fullest node has than the emptiest.", float64(sum.Spread()))
	states := prometheus.NewGaugeVec(
		prometheus.GaugeOpts{Name: "leasehold_check_sessions", Help: "Sessions by state, as leasehold sessions ls has them."},
		[]string{"state"},
	)
	registry.MustRegister(states)
	for _, state := range fleetview.States() {
		states.WithLabelValues(string(state)).Set(float64(sum.States[state]))
	}
	families, err := registry.Gather()
	if err != nil {
		return err
	}
	encoder := expfmt.NewEncoder(w, expfmt.NewFormat(expfmt.TypeTextPlain))
	for _, family := range families {
		if err := encoder.Encode(family); err != nil {
			return err
		}
	}
	return nil
}
