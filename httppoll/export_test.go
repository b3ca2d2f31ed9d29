package httppoll

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"time"
)

// PingEvery makes the client find dead connections of HTTP/2 sooner. Before the first
// poll only.
func (c *Client) PingEvery(d time.Duration) {
	if c.transport.HTTP2.SendPingTimeout <= 0 || c.transport.HTTP2.PingTimeout <= 0 {
		panic("dead connections are never found")
	}
	c.transport.HTTP2 = &http.HTTP2Config{SendPingTimeout: d, PingTimeout: d}
}

// OnDial has f called before each connection. Before the first poll only.
func (c *Client) OnDial(f func()) {
	dial := c.transport.DialContext
	c.transport.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		f()
		return dial(ctx, network, addr)
	}
}

// Denied reports whether the address falls under one of the rules.
func Denied(rules []netip.Prefix, addr netip.Addr) bool {
	_, found := match(rules, addr)
	return found
}

// KnownHosts is how many hosts are remembered.
func KnownHosts(h *Hosts) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.known)
}
