package httppoll

import (
	"net"
	"net/url"
	"strings"
	"sync"

	"leasehold/gate"
)

// Hosts bounds the polls in flight of each host and port: a [poller.Hosts]. All methods
// may be called from any goroutine. It remembers only the hosts that are polled or
// waited for.
type Hosts struct {
	most int

	mu    sync.Mutex
	known map[string]*host
}

type host struct {
	places *gate.Gate
	users  int // that poll or wait
}

// NewHosts returns a bound of so many polls a host, at least one.
func NewHosts(most int) *Hosts {
	return &Hosts{most: most, known: map[string]*host{}}
}

// Enter takes a place among the polls of the URL's host. If there is none, ready is
// called when there is, first come first served, as [gate.Gate.Enter] has it. An empty or
// unreadable URL has no host and waits for nothing.
func (h *Hosts) Enter(rawURL string, ready func()) (p *gate.Place, atOnce bool) {
	name := hostOf(rawURL)
	if name == "" {
		return gate.New(1).Enter(ready)
	}
	at := h.enter(name)
	return at.places.EnterAs(ready, func() { h.leave(name, at) })
}

func (h *Hosts) enter(name string) *host {
	h.mu.Lock()
	defer h.mu.Unlock()
	at := h.known[name]
	if at == nil {
		at = &host{places: gate.New(h.most)}
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
