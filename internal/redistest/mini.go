package redistest

import (
	"context"
	"net"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
)

// miniAddr is what clients of a Mini believe to dial. It is an IP address, since
// a name would be looked up, and a look-up in a bubble breaks the next bubble.
const miniAddr = "127.0.0.1:6379"

// Mini is an in-memory Redis whose TTLs follow the clock, fake in a bubble. Its
// embedded methods reach the data directly; SetError makes every command fail.
type Mini struct {
	*miniredis.Miniredis

	mu    sync.Mutex
	links []*Link
	own   *Link
}

// NewMini returns an empty server. Close it before the bubble ends.
func NewMini() *Mini {
	m := &Mini{Miniredis: miniredis.NewMiniRedis()}
	m.ClockTTL(true)
	m.own = m.Link()
	return m
}

// Link returns a new way to the server, which can fail apart from all others.
func (m *Mini) Link() *Link {
	l := newLink(m.Dial)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.links = append(m.links, l)
	return l
}

// Client returns a client over a link of its own that never fails. Close it.
func (m *Mini) Client(change ...func(*redis.Options)) *redis.Client {
	return m.own.Client(change...)
}

// Close ends all links and the server. Close the clients first.
func (m *Mini) Close() {
	m.mu.Lock()
	links := m.links
	m.mu.Unlock()
	for _, l := range links {
		l.close()
	}
	m.Miniredis.Close()
}

// Client returns a client over the link. Close it.
func (l *Link) Client(change ...func(*redis.Options)) *redis.Client {
	o := Options(miniAddr)
	o.Dialer = func(context.Context, string, string) (net.Conn, error) { return l.Dial() }
	for _, f := range change {
		f(o)
	}
	return redis.NewClient(o)
}

// Options returns client options for tests: bounded by contexts, no retries of
// the library's own, nothing that looks up names or pings in the background.
func Options(addr string) *redis.Options {
	return &redis.Options{
		Addr:                     addr,
		Protocol:                 2,
		ContextTimeoutEnabled:    true,
		DialTimeout:              time.Second,
		ReadTimeout:              2 * time.Second,
		WriteTimeout:             2 * time.Second,
		MaxRetries:               -1,
		DisableIdentity:          true,
		MaintNotificationsConfig: maintDisabled(),
	}
}
