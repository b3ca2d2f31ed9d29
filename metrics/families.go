package metrics

import "github.com/prometheus/client_golang/prometheus"

// prefix is what all names of the product's own metrics start with.
const prefix = "leasehold_"

// other is the value of a label for what the closed set does not name.
const other = "other"

// counters is one counter for each value of a label.
type counters struct {
	by   map[string]prometheus.Counter
	rest func() prometheus.Counter // for what has no counter of its own
}

// inc counts what has that value.
func (c counters) inc(value string) { c.of(value).Inc() }

func (c counters) of(value string) prometheus.Counter {
	if one, ok := c.by[value]; ok {
		return one
	}
	return c.rest()
}

// counted resolves a counter for each value of a vector's only label.
func counted(vec *prometheus.CounterVec, values ...string) counters {
	c := counters{
		by:   make(map[string]prometheus.Counter, len(values)),
		rest: func() prometheus.Counter { return vec.WithLabelValues(other) },
	}
	for _, v := range values {
		c.by[v] = vec.WithLabelValues(v)
	}
	return c
}

// histograms is one histogram for each value of a label.
type histograms struct {
	by   map[string]prometheus.Observer
	rest func() prometheus.Observer
}

func (h histograms) of(value string) prometheus.Observer {
	if one, ok := h.by[value]; ok {
		return one
	}
	return h.rest()
}

// observe adds a value, with the poll's trace as an example where there is one.
func observe(h prometheus.Observer, v float64, trace string) {
	if with, ok := h.(prometheus.ExemplarObserver); ok && trace != "" {
		with.ObserveWithExemplar(v, prometheus.Labels{"trace_id": trace})
		return
	}
	h.Observe(v)
}

// upToAMinute are the buckets of times that are mostly short.
func upToAMinute() []float64 {
	return []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60}
}

// maker makes and registers metrics.
type maker struct{ registry prometheus.Registerer }

func (mk maker) counter(name, help string) prometheus.Counter {
	c := prometheus.NewCounter(prometheus.CounterOpts{Name: prefix + name, Help: help})
	mk.registry.MustRegister(c)
	return c
}

// counters makes a counter for each of the values.
func (mk maker) counters(name, help, label string, values ...string) counters {
	return counted(mk.counterVec(name, help, label), values...)
}

func (mk maker) counterVec(name, help string, labels ...string) *prometheus.CounterVec {
	vec := prometheus.NewCounterVec(prometheus.CounterOpts{Name: prefix + name, Help: help}, labels)
	mk.registry.MustRegister(vec)
	return vec
}

func (mk maker) histogram(name, help string, buckets []float64) prometheus.Histogram {
	h := prometheus.NewHistogram(prometheus.HistogramOpts{Name: prefix + name, Help: help, Buckets: buckets})
	mk.registry.MustRegister(h)
	return h
}

// histograms makes a histogram for each of the values.
func (mk maker) histograms(name, help string, buckets []float64, label string, values ...string) histograms {
	vec := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: prefix + name, Help: help, Buckets: buckets}, []string{label})
	mk.registry.MustRegister(vec)
	h := histograms{
		by:   make(map[string]prometheus.Observer, len(values)),
		rest: func() prometheus.Observer { return vec.WithLabelValues(other) },
	}
	for _, v := range values {
		h.by[v] = vec.WithLabelValues(v)
	}
	return h
}
