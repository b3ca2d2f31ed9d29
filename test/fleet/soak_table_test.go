package fleet

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// sample is what was measured at one moment, by name.
type sample struct {
	at     time.Time
	values map[string]float64
}

// measure reads what must not grow: the vitals of the nodes that live all the time, and
// what Redis holds.
func (s *soak) measure(end time.Time) {
	warm := time.Now().Add(min(soakWarm, time.Until(end)/5))
	for ; time.Now().Before(end); time.Sleep(soakEvery) {
		if time.Now().Before(warm) {
			continue
		}
		now := sample{at: time.Now(), values: map[string]float64{}}
		for _, n := range s.keepers {
			v, ok := n.vitals()
			if !ok {
				continue
			}
			now.values[n.name+" RSS, MB"] = float64(v.rssMB)
			now.values[n.name+" descriptors"] = float64(v.files)
			now.values[n.name+" threads"] = float64(v.threads)
		}
		info := s.rdb.Info(s.t.Context(), "memory", "clients").Val()
		size, err := s.rdb.DBSize(s.t.Context()).Result()
		if err != nil {
			continue // stalled
		}
		now.values["Redis keys"] = float64(size)
		now.values["Redis memory, MB"] = field(info, "used_memory") / (1 << 20)
		now.values["Redis clients"] = field(info, "connected_clients")
		s.samples = append(s.samples, now)
	}
}

func field(info, name string) float64 {
	m := regexp.MustCompile(`(?m)^` + name + `:(\d+)`).FindStringSubmatch(info)
	if m == nil {
		return 0
	}
	v, _ := strconv.ParseFloat(m[1], 64)
	return v
}

// slack is how much a small number may differ beside the tenth.
func slack(name string) float64 {
	switch {
	case strings.HasSuffix(name, "descriptors"), strings.HasSuffix(name, "clients"):
		return 4
	case strings.HasSuffix(name, "threads"):
		return 3
	}
	return 1
}

// report compares the medians of the first third and the last.
func (s *soak) report() {
	s.t.Helper()
	third := len(s.samples) / 3
	if third < 5 {
		s.t.Errorf("not enough evidence: %d samples", len(s.samples))
		return
	}
	var table strings.Builder
	fmt.Fprintf(&table, "%-20s %10s %10s %10s %8s\n", "", "first", "last", "most", "change")
	for _, name := range sortedNames(s.samples[0].values) {
		first, last := middle(s.samples[:third], name), middle(s.samples[len(s.samples)-third:], name)
		fmt.Fprintf(&table, "%-20s %10.1f %10.1f %10.1f %+7.1f%%\n", name, first, last, highest(s.samples, name), 100*(last/first-1))
		if last > first*1.1+slack(name) {
			s.t.Errorf("%s has grown from %.1f to %.1f", name, first, last)
		}
	}
	s.t.Logf("medians of the first and the last third of %d samples:\n%s", len(s.samples), table.String())
}

func sortedNames(values map[string]float64) []string {
	names := make([]string, 0, len(values))
	for name := range values {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func column(samples []sample, name string) []float64 {
	var all []float64
	for _, s := range samples {
		if v, ok := s.values[name]; ok {
			all = append(all, v)
		}
	}
	slices.Sort(all)
	return all
}

func middle(samples []sample, name string) float64 {
	all := column(samples, name)
	return all[len(all)/2]
}

func highest(samples []sample, name string) float64 { return slices.Max(column(samples, name)) }
