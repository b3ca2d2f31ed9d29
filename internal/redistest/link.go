package redistest

import (
	"errors"
	"net"
	"sync"
	"time"
)

// ErrCut is what dialing over a cut link answers.
var ErrCut = errors.New("link is cut: connection refused")

type mode int

const (
	up mode = iota
	frozen
	deaf
	cut
)

// Link carries the connections of one client and can fail on command. All
// methods may be called from any goroutine.
type Link struct {
	dial func() (net.Conn, error)

	mu     sync.Mutex
	change *sync.Cond
	mode   mode
	lose   int
	sends  int
	ended  bool
	conns  map[*conn]struct{}
}

func newLink(dial func() (net.Conn, error)) *Link {
	l := &Link{dial: dial, conns: map[*conn]struct{}{}}
	l.change = sync.NewCond(&l.mu)
	return l
}

// Cut closes all connections and refuses new ones until Heal.
func (l *Link) Cut() {
	l.set(cut)
	l.Drop()
}

// Freeze keeps connections open and passes nothing either way, like a stopped
// server process: what was sent meanwhile takes effect after Heal, even if its
// sender gave up.
func (l *Link) Freeze() { l.set(frozen) }

// Deafen delivers commands, which take effect, and swallows all replies.
func (l *Link) Deafen() { l.set(deaf) }

// Heal ends Cut, Freeze and Deafen.
func (l *Link) Heal() { l.set(up) }

// LoseReplies lets the next n replies break their connection instead of arriving.
// Their commands, and those pipelined behind them, have taken effect.
func (l *Link) LoseReplies(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lose = n
}

// Sends counts the writes of clients over the link: each pipeline that fits a
// client's buffer is one.
func (l *Link) Sends() int {
	l.mu.Lock()
	defer l.mu.Unlock()

	return l.sends
}

// Drop closes the connections that are open now; new ones work.
func (l *Link) Drop() {
	for _, c := range l.open() {
		c.close()
	}
}

// Dial opens a connection over the link.
func (l *Link) Dial() (net.Conn, error) {
	l.mu.Lock()
	refused := l.mode == cut || l.ended
	l.mu.Unlock()
	if refused {
		return nil, ErrCut
	}
	far, err := l.dial()
	if err != nil {
		return nil, err
	}
	client, near := net.Pipe()
	c := &conn{link: l, near: near, far: far}
	l.mu.Lock()
	l.conns[c] = struct{}{}
	l.mu.Unlock()
	go c.read()
	go c.deliver()
	go c.hear()
	go c.reply()
	return client, nil
}

func (l *Link) set(m mode) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mode = m
	l.change.Broadcast()
}

func (l *Link) open() []*conn {
	l.mu.Lock()
	defer l.mu.Unlock()
	conns := make([]*conn, 0, len(l.conns))
	for c := range l.conns {
		conns = append(conns, c)
	}
	return conns
}

func (l *Link) close() {
	l.mu.Lock()
	l.ended = true
	l.change.Broadcast()
	l.mu.Unlock()
	l.Drop()
}

// conn joins a client's pipe to the server's. What either end sends is queued
// without bound, as sockets and servers buffer it: net.Pipe has no buffer, and a
// server that waits for a frozen client would keep all others waiting. The link's
// mutex guards the queues.
type conn struct {
	link      *Link
	near, far net.Conn
	requests  [][]byte
	replies   [][]byte
	done      bool // no more requests will be queued
	dead      bool // closed
	lost      bool // a reply was lost: the client's end is closed
}

// read queues what the client sends.
func (c *conn) read() {
	buf := make([]byte, 64<<10)
	for {
		n, err := c.near.Read(buf)
		c.link.mu.Lock()
		if n > 0 {
			c.link.sends++
			c.requests = append(c.requests, append([]byte(nil), buf[:n]...))
		}
		if err != nil {
			c.done = true
		}
		c.link.change.Broadcast()
		c.link.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// deliver passes the requests to the server, and closes when the client has.
func (c *conn) deliver() {
	defer c.close()
	for {
		b, ok := c.nextRequest()
		if !ok {
			break
		}
		if _, err := c.far.Write(b); err != nil {
			return
		}
	}
	if c.isLost() {
		time.Sleep(100 * time.Millisecond) // the server does all it was sent
	}
}

func (c *conn) nextRequest() ([]byte, bool) {
	c.link.mu.Lock()
	defer c.link.mu.Unlock()
	for !c.ended() && (c.link.mode == frozen || (len(c.requests) == 0 && !c.done)) {
		c.link.change.Wait()
	}
	if c.ended() || len(c.requests) == 0 {
		return nil, false
	}
	b := c.requests[0]
	c.requests = c.requests[1:]
	return b, true
}

// hear queues the server's replies.
func (c *conn) hear() {
	buf := make([]byte, 64<<10)
	for {
		n, err := c.far.Read(buf)
		if err != nil {
			c.close()
			return
		}
		c.link.mu.Lock()
		c.replies = append(c.replies, append([]byte(nil), buf[:n]...))
		c.link.change.Broadcast()
		c.link.mu.Unlock()
	}
}

// reply passes the replies to the client, as far as the link lets it.
func (c *conn) reply() {
	for {
		b, ok := c.nextReply()
		if !ok {
			return
		}
		if _, err := c.near.Write(b); err != nil {
			return
		}
	}
}

// nextReply returns the next reply that arrives. One that is lost closes the
// client's end; the server's lives until it has done all it was sent.
func (c *conn) nextReply() ([]byte, bool) {
	c.link.mu.Lock()
	defer c.link.mu.Unlock()
	for {
		for !c.ended() && (c.link.mode == frozen || len(c.replies) == 0) {
			c.link.change.Wait()
		}
		if c.ended() {
			return nil, false
		}
		b := c.replies[0]
		c.replies = c.replies[1:]
		switch {
		case c.link.mode == deaf:
		case c.link.mode == up && c.link.lose > 0:
			c.link.lose--
			c.lost = true
			_ = c.near.Close()
			return nil, false
		default:
			return b, true
		}
	}
}

// ended needs the link's mutex.
func (c *conn) ended() bool { return c.dead || c.link.ended }

func (c *conn) isLost() bool {
	c.link.mu.Lock()
	defer c.link.mu.Unlock()
	return c.lost
}

func (c *conn) close() {
	c.link.mu.Lock()
	c.dead = true
	delete(c.link.conns, c)
	c.link.change.Broadcast()
	c.link.mu.Unlock()
	_ = c.near.Close()
	_ = c.far.Close()
}
