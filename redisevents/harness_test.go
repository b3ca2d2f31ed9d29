package redisevents_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"leasehold/redisevents"
	"leasehold/rediskey"
)

// heard runs a listener and keeps all that it and its observer said.
type heard struct {
	listener *redisevents.Listener

	mu      sync.Mutex
	events  []redisevents.Event
	notes   []string
	stop    context.CancelFunc
	wake    chan struct{}
	done    chan error
	drained chan struct{}
}

// listen starts a listener over the client. Stop it with close.
func listen(client redis.UniversalClient, change ...func(*redisevents.Config)) *heard {
	h := &heard{
		wake: make(chan struct{}, 1), done: make(chan error, 1), drained: make(chan struct{}),
	}
	cfg := redisevents.Config{
		Client: client, Keys: rediskey.Default(), Observer: h,
		Notify: func() {
			select {
			case h.wake <- struct{}{}:
			default:
			}
		},
	}
	for _, f := range change {
		f(&cfg)
	}
	h.listener = redisevents.New(cfg)
	ctx, cancel := context.WithCancel(context.Background())
	h.stop = cancel
	go func() { h.done <- h.listener.Run(ctx) }()
	go func() {
		defer close(h.drained)
		for {
			select {
			case <-ctx.Done():
				return
			case <-h.wake:
				taken := h.listener.Take()
				h.mu.Lock()
				h.events = append(h.events, taken...)
				h.mu.Unlock()
			}
		}
	}()
	return h
}

// close ends the listener and returns what Run returned.
func (h *heard) close() error {
	h.stop()
	<-h.drained
	return <-h.done
}

func (h *heard) note(format string, args ...any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.notes = append(h.notes, fmt.Sprintf(format, args...))
}

func (h *heard) Subscribed(flags string, channels []string) {
	h.note("subscribed %s %d", flags, len(channels))
}
func (h *heard) Lost(reason string, err error) { h.note("lost %s: %v", reason, err) }
func (h *heard) Disabled(reason string)        { h.note("disabled %s", reason) }
func (h *heard) Warned(reason string)          { h.note("warned %s", reason) }

// noted lists the observer's lines that start with prefix.
func (h *heard) noted(prefix string) []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var lines []string
	for _, n := range h.notes {
		if strings.HasPrefix(n, prefix) {
			lines = append(lines, n)
		}
	}
	return lines
}

// all lists the events, gaps aside.
func (h *heard) all() []redisevents.Event {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(h.events), isGap)
}

func (h *heard) gaps() []redisevents.Gap {
	h.mu.Lock()
	defer h.mu.Unlock()
	var gaps []redisevents.Gap
	for _, e := range h.events {
		if g, ok := e.(redisevents.Gap); ok {
			gaps = append(gaps, g)
		}
	}
	return gaps
}

func (h *heard) forget() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.events, h.notes = nil, nil
}

func isGap(e redisevents.Event) bool {
	_, ok := e.(redisevents.Gap)
	return ok
}

// must fails the test on an error of its own set-up.
func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// await waits until ok, on the real clock, and returns how long it took.
func await(tb testing.TB, most time.Duration, what string, ok func() bool) time.Duration {
	tb.Helper()
	start := time.Now()
	for !ok() {
		if time.Since(start) > most {
			tb.Fatalf("not within %s: %s", most, what)
		}
		time.Sleep(2 * time.Millisecond)
	}
	return time.Since(start)
}

func keys() rediskey.Keys { return rediskey.Default() }
