package redistest

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"
)

// miniAddr is what clients of a Mini believe to dial. It is an IP address, since
// a name would be looked up, and a look-up in a bubble breaks the next bubble.
const miniAddr = "127.0.0.1:6379"

// Mini is an in-memory Redis whose TTLs follow the clock, fake in a bubble. Its
// embedded methods reach the data directly, between any two commands.
type Mini struct {
	*miniredis.Miniredis

	srv *server.Server

	mu    sync.Mutex
	host  mode
	links []*Link
	own   *Link

	working  sync.Mutex // held by the one command that is carried out; it guards the rest
	scripts  *scripts
	pubsub   pubsub
	replaced func()
	advance  func()
}

// NewMini returns an empty server. Close it before the bubble ends.
func NewMini() *Mini {
	m := &Mini{Miniredis: miniredis.NewMiniRedis(), advance: func() {}}
	if c, err := m.Dial(); err == nil { // it starts the server, and cannot fail
		_ = c.Close()
	}
	m.srv = m.Server()
	m.ClockTTL(true)
	m.own = newLink(m)
	m.scripts = newScripts(m.srv)
	m.pubsub.byPeer = map[*server.Peer]*subscriber{}
	m.srv.SetPreHook(m.Hook)
	return m
}

// Link returns a new way to the server, which can fail apart from all others.
func (m *Mini) Link() *Link {
	l := newLink(m)
	m.mu.Lock()
	defer m.mu.Unlock()
	l.host = m.host
	m.links = append(m.links, l)
	return l
}

// Client returns a client over a link of its own that never fails, also when the
// server does. Close it.
func (m *Mini) Client(change ...func(*redis.Options)) *redis.Client {
	return m.own.Client(change...)
}

// Down closes all connections and refuses new ones until Up.
func (m *Mini) Down() { m.setHost(cut) }

// Hang stops the server's process until Up: connections stay open, what is sent to
// it takes effect after Up, and nothing is answered before.
func (m *Mini) Hang() { m.setHost(frozen) }

// Up ends Down and Hang.
func (m *Mini) Up() { m.setHost(up) }

func (m *Mini) setHost(h mode) {
	for _, l := range m.all(func() { m.host = h }) {
		l.setHost(h)
	}
}

// DropAll closes all connections that are open now; new ones work.
func (m *Mini) DropAll() {
	for _, l := range m.all(nil) {
		l.Drop()
	}
}

// Fail is Link.Fail on all links.
func (m *Mini) Fail(text string, only ...string) {
	for _, l := range m.all(nil) {
		l.Fail(text, only...)
	}
}

// SetError makes every command fail, also those over the link that never does. An
// empty text ends it.
func (m *Mini) SetError(text string) {
	m.own.Fail(text)
	m.Fail(text)
}

// Hook is the hook of the server that carries scripts and subscriptions out, faster
// than miniredis does by itself. Who sets another hook lets that one call it last,
// and publishes by Publish; without it all works as well, and scripts still are
// atomic.
func (m *Mini) Hook(c *server.Peer, cmd string, args ...string) bool {
	return m.scripts.hook(c, cmd, args...) || m.pubsub.hook(c, cmd, args, m.Miniredis.Publish)
}

// Publish sends a message to all subscribers and counts them.
func (m *Mini) Publish(channel, message string) int {
	return m.pubsub.publish(channel, message) + m.Miniredis.Publish(channel, message)
}

// PubSubNumSub counts the subscribers of channels.
func (m *Mini) PubSubNumSub(channels ...string) map[string]int {
	all := m.Miniredis.PubSubNumSub(channels...)
	m.pubsub.mu.Lock()
	defer m.pubsub.mu.Unlock()
	for _, s := range m.pubsub.subs {
		for _, channel := range channels {
			if slices.Contains(s.channels, channel) {
				all[channel]++
			}
		}
	}
	return all
}

// PubSubNumPat counts the subscriptions by pattern.
func (m *Mini) PubSubNumPat() int {
	n := m.Miniredis.PubSubNumPat()
	m.pubsub.mu.Lock()
	defer m.pubsub.mu.Unlock()
	for _, s := range m.pubsub.subs {
		n += len(s.patterns)
	}
	return n
}

// InScript tells a hook that the command comes from a script.
func (m *Mini) InScript(c *server.Peer) bool { return c == m.scripts.peer }

// TotalConnectionCount counts the connections of clients that ever were.
func (m *Mini) TotalConnectionCount() int {
	n := m.own.Made()
	for _, l := range m.all(nil) {
		n += l.Made()
	}
	return n
}

// all returns the links that can fail.
func (m *Mini) all(first func()) []*Link {
	m.mu.Lock()
	defer m.mu.Unlock()
	if first != nil {
		first()
	}
	return m.links
}

// Close ends all links and the server. Close the clients first.
func (m *Mini) Close() {
	for _, l := range m.all(nil) {
		l.close()
	}
	m.own.close()
	m.Miniredis.Close()
	m.scripts.state.Close()
}

// execute carries out one command of a client. It is called by who delivers.
func (m *Mini) execute(c *conn, args []string) {
	cmd := strings.ToUpper(args[0])
	c.link.mu.Lock()
	failing := c.link.failing
	if cmd == "SUBSCRIBE" || cmd == "PSUBSCRIBE" {
		c.pubsub = true
	}
	c.link.mu.Unlock()
	if failing.hits(cmd) {
		c.session.peer.WriteError(failing.text)
		return
	}
	m.working.Lock()
	defer m.working.Unlock()
	m.srv.Dispatch(c.session.peer, args)
}

// unsubscribe ends the subscriptions of a client that has gone.
func (m *Mini) unsubscribe(p *server.Peer) {
	if m.pubsub.drop(p) {
		return
	}
	m.working.Lock()
	defer m.working.Unlock()
	m.srv.Dispatch(p, []string{"UNSUBSCRIBE"})
	m.srv.Dispatch(p, []string{"PUNSUBSCRIBE"})
}

// Client returns a client over the link. Close it.
func (l *Link) Client(change ...func(*redis.Options)) *redis.Client {
	o := Options(miniAddr)
	o.Dialer = l.dialer
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
		DialerRetries:            1,
		ReadBufferSize:           4 << 10, // the default costs more than all else that a new connection does
		WriteBufferSize:          4 << 10,
		DisableIdentity:          true,
		MaintNotificationsConfig: maintDisabled(),
	}
}
