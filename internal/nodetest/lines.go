package nodetest

import (
	"bytes"
	"strings"
	"sync"
)

// Lines is a log that a spec can read.
type Lines struct {
	mu    sync.Mutex
	buf   bytes.Buffer
	muted bool // whoever writes has died
}

// Write implements io.Writer.
func (l *Lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.muted {
		return len(p), nil
	}
	return l.buf.Write(p)
}

// mute drops all that is written from now on.
func (l *Lines) mute() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.muted = true
}

// Events returns the lines of one event.
func (l *Lines) Events(name string) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var lines []string
	for line := range strings.Lines(l.buf.String()) {
		if strings.Contains(line, `"event":"`+name+`"`) {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}

// String returns the whole log.
func (l *Lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}
