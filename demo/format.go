package demo

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// plural is "1 session" or "2 sessions".
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// list is "a", "a and b" or "a, b and c"; of more than most names only the number.
func list(names []string, noun string) string {
	const most = 6
	switch n := len(names); {
	case n > most:
		return plural(n, noun)
	case n > 1:
		return strings.Join(names[:n-1], ", ") + " and " + names[n-1]
	default:
		return strings.Join(names, "")
	}
}

// short is a duration with as many digits as a person wants.
func short(d time.Duration) string {
	switch ms := float64(d) / float64(time.Millisecond); {
	case d >= time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d >= 10*time.Millisecond:
		return fmt.Sprintf("%.0f ms", ms)
	default:
		return fmt.Sprintf("%.1f ms", ms)
	}
}

// whole is a duration that is a setting, such as "6 s".
func whole(d time.Duration) string {
	return strings.TrimSuffix(fmt.Sprintf("%g", d.Seconds()), ".0") + " s"
}

// median of at least one value.
func median(values []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}

// share is how many sessions a node holds.
type share struct {
	name   string
	leases int
	// gone says that the node has ended, so that its leases run out.
	gone bool
}

// status is the line about the state of the fleet.
func status(perSecond float64, sessions int, shares []share, duplicates int64) string {
	leased := 0
	for _, s := range shares {
		leased += s.leases
	}
	return fmt.Sprintf("%.1f polls/s · %d/%d sessions leased · %s · duplicate polls: %d",
		perSecond, leased, sessions, spread(shares), duplicates)
}

// spread says who holds how many; a large fleet's in one range.
func spread(shares []share) string {
	const most = 8
	var parts []string
	var counts []int
	for _, s := range shares {
		switch {
		case !s.gone:
			counts = append(counts, s.leases)
			parts = append(parts, fmt.Sprintf("%s %d", s.name, s.leases))
		case s.leases > 0:
			parts = append(parts, fmt.Sprintf("%s (ended) %d", s.name, s.leases))
		}
	}
	if len(parts) <= most {
		return strings.Join(parts, ", ")
	}
	low, high := slices.Min(counts), slices.Max(counts)
	if low == high {
		return fmt.Sprintf("%d nodes with %d each", len(counts), low)
	}
	return fmt.Sprintf("%d nodes with %d to %d each", len(counts), low, high)
}
