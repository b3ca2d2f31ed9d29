package eventlog

import (
	"bytes"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

const (
	maxQueue = 4 << 20
	pipeBuf  = 4096
)

// sink queues lines and writes them from a goroutine of its own, which lives only
// while there is something to write. So a stalled terminal or pipe stops nobody.
type sink struct {
	// Set once.
	w       io.Writer
	perLine bool // w takes one line a call
	// onDropped returns the line that reports lost ones.
	onDropped func(count int) []byte

	lost    atomic.Uint64 // lines, in all
	mu      sync.Mutex
	queue   []byte
	dropped int
	idle    chan struct{} // not nil while the goroutine lives; closed at its end
}

// Write queues one line.
func (s *sink) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.queue)+len(p) > maxQueue {
		s.dropped++
		s.lost.Add(1)
		return len(p), nil
	}
	s.queue = append(s.queue, p...)
	if s.idle == nil {
		s.idle = make(chan struct{})
		go s.drain()
	}
	return len(p), nil
}

// flush waits until nothing is queued, but no longer than patience.
func (s *sink) flush(patience time.Duration) {
	s.mu.Lock()
	idle := s.idle
	s.mu.Unlock()
	if idle == nil {
		return
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-idle:
	case <-timer.C:
	}
}

// drain writes until the queue is empty.
func (s *sink) drain() {
	var spare []byte
	for {
		s.mu.Lock()
		lines, dropped := s.queue, s.dropped
		if len(lines) == 0 {
			close(s.idle)
			s.idle = nil
			s.mu.Unlock()
			return
		}
		s.queue, s.dropped = spare[:0], 0
		s.mu.Unlock()

		s.writeAll(lines)
		if dropped > 0 {
			s.writeAll(s.onDropped(dropped))
		}
		spare = lines
	}
}

// writeAll writes whole lines, as many a call as a pipe takes without tearing. A
// writer's error loses its lines: there is nowhere to report it.
func (s *sink) writeAll(lines []byte) {
	for len(lines) > 0 {
		n := bytes.IndexByte(lines, '\n') + 1
		for !s.perLine && n < len(lines) {
			next := bytes.IndexByte(lines[n:], '\n') + 1
			if n+next > pipeBuf {
				break
			}
			n += next
		}
		_, _ = s.w.Write(lines[:n])
		lines = lines[n:]
	}
}
