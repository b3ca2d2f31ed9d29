package bench

import (
	"context"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

const pollPath = "/p/"

// flight is one poll as the target saw it.
type flight struct{ from, to time.Time }

// target answers polls at once. It keeps when they came.
type target struct {
	addr string

	mu      sync.Mutex
	total   int
	flights map[string][]*flight
	// idle targets count and keep nothing, for what measures how fast polls are.
	idle bool
}

func startTarget(t *testing.T) *target {
	t.Helper()
	s := &target{flights: map[string][]*flight{}}
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.addr = l.Addr().String()
	server := &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second}
	context.AfterFunc(t.Context(), func() { _ = server.Close() })
	go func() { _ = server.Serve(l) }()
	return s
}

func (s *target) url(id string) string { return "http://" + s.addr + pollPath + id }

func (s *target) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f := s.begin(strings.TrimPrefix(r.URL.Path, pollPath))
	_, _ = w.Write([]byte(`{"ok":true}`))
	if f != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		f.to = time.Now()
	}
}

func (s *target) begin(id string) *flight {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.total++
	if s.idle {
		return nil
	}
	f := &flight{from: time.Now()}
	s.flights[id] = append(s.flights[id], f)
	return f
}

func (s *target) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.total
}

// firsts are when each of the sessions was first polled; those that were not are left out.
func (s *target) firsts(ids []string) map[string]time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := map[string]time.Time{}
	for _, id := range ids {
		if list := s.flights[id]; len(list) > 0 {
			at[id] = list[0].from
		}
	}
	return at
}

// judge counts the pairs of polls of a session that were in flight at once, and the
// slots between two polls that none served, among the polls since the moment given.
func (s *target) judge(since time.Time, interval time.Duration) (overlaps, missed int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, list := range s.flights {
		for i, f := range list[1:] {
			before := list[i]
			if before.to.IsZero() || before.to.After(f.from) {
				overlaps++
			}
			if gap := f.from.Sub(before.from); before.from.After(since) && gap > interval*3/2 {
				missed += int((gap+interval/2)/interval) - 1
			}
		}
	}
	return overlaps, missed
}
