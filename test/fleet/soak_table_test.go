package fleet

import (
	"fmt"
	"maps"
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
		files, goroutines, all := 0, 0, true
		for _, n := range s.keepers {
			v, ok := n.vitals()
			all = all && ok && v.goroutines > 0
			if !ok {
				continue
			}
			now.values[n.name+" RSS, MB"] = float64(v.rssMB)
			now.values[n.name+" threads"] = float64(v.threads)
			files, goroutines = files+v.files, goroutines+v.goroutines
		}
		if all { // together, since either may have the more of the slow targets
			now.values["a and b, descriptors"], now.values["a and b, goroutines"] = float64(files), float64(goroutines)
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
	case strings.HasSuffix(name, "goroutines"):
		return 12
	case strings.HasSuffix(name, "threads"):
		return 3
	}
	return 1
}

// level is what is compared of a column. Connections to targets stay for 90 seconds after
// a node has polled much at once, as it does after a freeze, and with each go goroutines:
// of what comes and goes by the hundred, a leak shows in the least, so that is the first
// tenth. All else is the median.
func level(all []float64, name string) float64 {
	if strings.HasSuffix(name, "descriptors") || strings.HasSuffix(name, "goroutines") {
		return all[len(all)/10]
	}
	return all[len(all)/2]
}

// report compares the first third and the last.
func (s *soak) report() {
	s.t.Helper()
	third := len(s.samples) / 3
	if third < 5 {
		s.t.Errorf("not enough evidence: %d samples", len(s.samples))
		return
	}
	var table strings.Builder
	fmt.Fprintf(&table, "%-20s %10s %10s %10s %8s\n", "", "first", "last", "most", "change")
	for _, name := range s.names() {
		first, last := level(column(s.samples[:third], name), name), level(column(s.samples[len(s.samples)-third:], name), name)
		fmt.Fprintf(&table, "%-20s %10.1f %10.1f %10.1f %+7.1f%%\n", name, first, last, highest(s.samples, name), 100*(last/first-1))
		if last > first*1.1+slack(name) {
			s.t.Errorf("%s has grown from %.1f to %.1f", name, first, last)
		}
	}
	s.t.Logf("the first and the last third of %d samples:\n%s", len(s.samples), table.String())
}

// names are of all that was measured.
func (s *soak) names() []string {
	all := map[string]bool{}
	for _, one := range s.samples {
		for name := range one.values {
			all[name] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
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

func highest(samples []sample, name string) float64 { return slices.Max(column(samples, name)) }
