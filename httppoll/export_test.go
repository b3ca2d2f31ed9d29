package httppoll

import (
	"net/http"
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
