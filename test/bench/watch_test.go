package bench

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"leasehold/internal/redistest"
)

// change is what Redis announced of a key, at the time that it was read here.
type change struct {
	event, key string
	at         time.Time
}

// watch listens to what Redis announces. It reads the connection itself: a client
// library would add its own delay.
type watch struct {
	mu      sync.Mutex
	changes []change
}

const (
	channel = "__keyevent@0__:"
	glance  = 200 * time.Millisecond // between two looks at what costs something to look at
)

// startWatch listens to set, del and expired until the test ends.
func startWatch(t *testing.T, s *redistest.Server) *watch {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	context.AfterFunc(t.Context(), func() { _ = conn.Close() })
	if _, err := fmt.Fprintf(conn, "SUBSCRIBE %[1]sset %[1]sdel %[1]sexpired\r\n", channel); err != nil {
		t.Fatal(err)
	}
	w := &watch{}
	go w.read(conn)
	return w
}

// stamped gives the time at which the bytes that are in the buffer came.
type stamped struct {
	from io.Reader
	at   time.Time
}

func (s *stamped) Read(p []byte) (int, error) {
	n, err := s.from.Read(p)
	s.at = time.Now()
	return n, err
}

func (w *watch) read(from io.Reader) {
	source := &stamped{from: from}
	in := bufio.NewReaderSize(source, 64<<10)
	for {
		parts, err := readArray(in)
		if err != nil {
			return
		}
		if len(parts) == 3 && parts[0] == "message" {
			w.mu.Lock()
			w.changes = append(w.changes, change{strings.TrimPrefix(parts[1], channel), parts[2], source.at})
			w.mu.Unlock()
		}
	}
}

// readArray reads an array of bulk strings; what is none of them becomes empty.
func readArray(in *bufio.Reader) ([]string, error) {
	n, err := readLength(in, '*')
	if err != nil {
		return nil, err
	}
	parts := make([]string, n)
	for i := range parts {
		size, err := readLength(in, '$', ':')
		if err != nil {
			return nil, err
		}
		if size < 0 {
			continue
		}
		text := make([]byte, size+2)
		if _, err := io.ReadFull(in, text); err != nil {
			return nil, err
		}
		parts[i] = string(text[:size])
	}
	return parts, nil
}

// readLength reads a line that begins with one of the kinds. Of a number, which has
// nothing behind its line, it returns -1.
func readLength(in *bufio.Reader, kinds ...byte) (int, error) {
	line, err := in.ReadString('\n')
	if err != nil {
		return 0, err
	}
	line = strings.TrimRight(line, "\r\n")
	if line == "" || !strings.ContainsRune(string(kinds), rune(line[0])) {
		return 0, fmt.Errorf("unexpected %q", line)
	}
	if line[0] == ':' {
		return -1, nil
	}
	return strconv.Atoi(line[1:])
}

// since returns what was announced from the moment on, of one event.
func (w *watch) since(from time.Time, event string) []change {
	w.mu.Lock()
	defer w.mu.Unlock()
	var found []change
	for _, c := range w.changes {
		if c.event == event && !c.at.Before(from) {
			found = append(found, c)
		}
	}
	return found
}

// first waits until each of the keys was announced from the moment on, and returns when
// each was first.
func (w *watch) first(t *testing.T, from time.Time, event string, keys []string, limit time.Duration) map[string]time.Time {
	t.Helper()
	at := w.firstOf(t, from, event, keys, limit)
	if len(at) < len(keys) {
		t.Fatalf("%d of %d keys: no %s within %s", len(keys)-len(at), len(keys), event, limit)
	}
	return at
}

// firstOf is the same for those that were announced within the limit.
func (w *watch) firstOf(t *testing.T, from time.Time, event string, keys []string, limit time.Duration) map[string]time.Time {
	t.Helper()
	wanted := make(map[string]bool, len(keys))
	for _, key := range keys {
		wanted[key] = true
	}
	at := map[string]time.Time{}
	for deadline := time.Now().Add(limit); len(at) < len(keys) && time.Now().Before(deadline); time.Sleep(glance) {
		for _, c := range w.since(from, event) {
			if _, known := at[c.key]; !known && wanted[c.key] {
				at[c.key] = c.at
			}
		}
	}
	return at
}

// until waits for a condition that costs something to look at.
func until(t *testing.T, limit time.Duration, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(limit); !holds(); time.Sleep(glance) {
		if time.Now().After(deadline) {
			t.Fatalf("not after %s: %s", limit, what)
		}
	}
}
