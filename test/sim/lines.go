package sim

import (
	"slices"
	"strings"
	"time"
)

// mostLines of the nodes' logs are shown with a violation.
const mostLines = 300

// lines are the last lines that the nodes logged since a moment, in order of time.
func (w *world) lines(since time.Time, most int) []string {
	from := `{"time":"` + since.UTC().Format("2006-01-02T15:04:05.000Z07:00")
	var lines []string
	for _, m := range w.fleet.Members() {
		for line := range strings.Lines(m.Log.String()) {
			if line >= from {
				lines = append(lines, strings.TrimSpace(line))
			}
		}
	}
	slices.Sort(lines)
	return lines[max(0, len(lines)-most):]
}
