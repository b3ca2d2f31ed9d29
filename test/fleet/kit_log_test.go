package fleet

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// maxLine is what a log line may have at most, in bytes.
const maxLine = 4096

// line is what a node logged.
type line struct {
	Time     time.Time `json:"time"`
	Level    string    `json:"level"`
	Event    string    `json:"event"`
	Instance string    `json:"instance_id"`
	Session  string    `json:"endpoint_id"`
	Version  int64     `json:"version"`
	Reason   string    `json:"reason"`
	Key      string    `json:"key"`
	Error    string    `json:"error"`
	Member   string    `json:"member"`
	Left     int       `json:"leases_left"`

	text string
}

// journal keeps a node's lines and what was wrong with them.
type journal struct {
	mu     sync.Mutex
	lines  []line
	faults []string
}

// read takes lines until the pipe closes.
func (j *journal) read(from io.Reader) {
	in := bufio.NewReader(from)
	for {
		text, err := in.ReadString('\n')
		if text != "" {
			j.take(strings.TrimSuffix(text, "\n"))
		}
		if err != nil {
			return
		}
	}
}

func (j *journal) take(text string) {
	l := line{text: text}
	err := json.Unmarshal([]byte(text), &l)
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines = append(j.lines, l)
	switch {
	case err != nil:
		j.faults = append(j.faults, fmt.Sprintf("no JSON line (%v): %.300q", err, text))
	case len(text) >= maxLine:
		j.faults = append(j.faults, fmt.Sprintf("a line of %d bytes: %.300q", len(text), text))
	case l.Event == "" || l.Level == "" || l.Time.IsZero() || l.Instance == "":
		j.faults = append(j.faults, fmt.Sprintf("a line without time, level, event or instance: %.300q", text))
	}
	for _, bad := range []string{"panic", "fatal error", "DATA RACE"} {
		if strings.Contains(text, bad) {
			j.faults = append(j.faults, fmt.Sprintf("%s: %.300q", bad, text))
		}
	}
}

// all returns the lines for which every condition holds.
func (j *journal) all(conditions ...func(line) bool) []line {
	j.mu.Lock()
	defer j.mu.Unlock()
	var found []line
next:
	for _, l := range j.lines {
		for _, holds := range conditions {
			if !holds(l) {
				continue next
			}
		}
		found = append(found, l)
	}
	return found
}

// tail returns the last lines for people.
func (j *journal) tail(n int) string {
	j.mu.Lock()
	defer j.mu.Unlock()
	var out strings.Builder
	for _, l := range j.lines[max(0, len(j.lines)-n):] {
		fmt.Fprintf(&out, "    %.600s\n", l.text)
	}
	return out.String()
}

func event(name string) func(line) bool {
	return func(l line) bool { return l.Event == name }
}
