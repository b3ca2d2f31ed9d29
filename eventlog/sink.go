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

		failed := s.writeAll(lines)
		s.lost.Add(uint64(failed)) //nolint:gosec // a count
		if owed := dropped + failed; owed > 0 && s.writeAll(s.onDropped(owed)) > 0 {
			s.owe(owed)
		}
		spare = lines
	}
}

// owe has lost lines reported after the next ones: whoever comes to read then, such as
// the next reader of a named pipe, shall know of them.
func (s *sink) owe(count int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dropped += count
}

// writeAll writes whole lines, as many a call as a pipe takes without tearing. A
// writer's error loses its lines; it returns how many.
func (s *sink) writeAll(lines []byte) (failed int) {
	for len(lines) > 0 {
		n := bytes.IndexByte(lines, '\n') + 1
		for !s.perLine && n < len(lines) {
			next := bytes.IndexByte(lines[n:], '\n') + 1
			if n+next > pipeBuf {
				break
			}
			n += next
		}
		if _, err := s.w.Write(lines[:n]); err != nil {
			failed += bytes.Count(lines[:n], []byte{'\n'})
		}
		lines = lines[n:]
	}
	return failed
}
