package fleet

import (
	"fmt"
	"time"
)

// quiet finds what an outage cost: the time from its beginning to the last poll that
// started in it.
func (f *fleet) quiet(from, to time.Duration) string {
	var last time.Duration
	n := 0
	for _, p := range f.target.Records() {
		if p.From > from && p.From < to {
			n, last = n+1, p.From-from
		}
	}
	return fmt.Sprintf("%d polls, the last after %s", n, last.Round(time.Millisecond))
}

// talk finds the most lines that a node logged within any second of a stretch, apart from
// those that tell of a session that came or went.
func (n *node) talk(from, to time.Time) int {
	lines := n.all(func(l line) bool {
		return l.Time.After(from) && l.Time.Before(to) && l.Event != "lease.acquired" && l.Event != "lease.released"
	})
	most, first := 0, 0
	for i := range lines {
		for lines[i].Time.Sub(lines[first].Time) >= time.Second {
			first++
		}
		most = max(most, i-first+1)
	}
	return most
}
