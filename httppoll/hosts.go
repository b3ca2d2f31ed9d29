package httppoll

import (
	"context"
	"net"
	"net/url"
	"strings"
	"sync"

	"golang.org/x/sync/semaphore"
)

// Hosts bounds the polls in flight of each host and port: a [poller.Hosts]. All methods
// may be called from any goroutine. It remembers only the hosts that are polled or
// waited for.
type Hosts struct {
	most int64

	mu    sync.Mutex
	known map[string]*host
}

type host struct {
	places *semaphore.Weighted
	users  int // that poll or wait
}

// NewHosts returns a bound of so many polls a host, at least one.
func NewHosts(most int) *Hosts {
	return &Hosts{most: int64(most), known: map[string]*host{}}
}

// Acquire waits, first come first served, until one more poll of the URL's host may be
// in flight, or ctx ends: then it returns ctx' error. Release ends the poll; it must be
// called once. An empty or unreadable URL has no host and waits for nothing.
func (h *Hosts) Acquire(ctx context.Context, rawURL string) (release func(), err error) {
	name := hostOf(rawURL)
	if name == "" {
		return func() {}, nil
	}
	at := h.enter(name)
	if err := at.places.Acquire(ctx, 1); err != nil {
		h.leave(name, at)
		return nil, err
	}
	return func() {
		at.places.Release(1)
		h.leave(name, at)
	}, nil
}

func (h *Hosts) enter(name string) *host {
	h.mu.Lock()
	defer h.mu.Unlock()
	at := h.known[name]
	if at == nil {
		at = &host{places: semaphore.NewWeighted(h.most)}
		h.known[name] = at
	}
	at.users++
	return at
}

func (h *Hosts) leave(name string, at *host) {
	h.mu.Lock()
	defer h.mu.Unlock()
	at.users--
	if at.users == 0 {
		delete(h.known, name)
	}
}

// hostOf is host and port, in one spelling.
func hostOf(rawURL string) string {
	u, err := url.Parse(rawURL)
	if err != nil || u.Host == "" {
		return ""
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[strings.ToLower(u.Scheme)]
	}
	return net.JoinHostPort(strings.ToLower(u.Hostname()), port)
}
