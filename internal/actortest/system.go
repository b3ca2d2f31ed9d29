package actortest

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"

	"github.com/asynkron/protoactor-go/actor"

	"leasehold/actors/tree"
	"leasehold/eventlog"
	"leasehold/internal/bubble"
)

// System is an actor system under a spec. Make it inside the bubble.
type System struct {
	*actor.ActorSystem

	// Log is for the actors under test.
	Log *eventlog.Log

	lines lines
	mu    sync.Mutex
	fails []tree.Failure
}

// NewSystem returns an actor system that is alive until Close.
func NewSystem() *System {
	s := &System{}
	s.Log = eventlog.New(&s.lines, eventlog.Options{Level: eventlog.Debug})
	s.ActorSystem = actor.NewActorSystem(actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger {
		return slog.New(s.Log.SlogHandler())
	}))

	return s
}

// Close ends the system and lets its leftovers end. It is a spec's last call.
func (s *System) Close() {
	s.Shutdown()
	bubble.Settle()
	s.Log.Close()
}

// Report keeps a panic; give it to the actors under test.
func (s *System) Report(f tree.Failure) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fails = append(s.fails, f)
}

// Failures returns the panics so far.
func (s *System) Failures() []tree.Failure {
	s.mu.Lock()
	defer s.mu.Unlock()

	return append([]tree.Failure(nil), s.fails...)
}

// Events returns the log's lines of one event.
func (s *System) Events(name string) []string {
	var found []string
	for line := range strings.Lines(s.lines.String()) {
		if strings.Contains(line, `"event":"`+name+`"`) {
			found = append(found, strings.TrimSpace(line))
		}
	}

	return found
}

// Text returns the whole log.
func (s *System) Text() string { return s.lines.String() }

type lines struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()

	return l.buf.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()

	return l.buf.String()
}
