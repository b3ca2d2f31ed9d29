package redistest

import (
	"bufio"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/alicebob/miniredis/v2/server"
)

// conn is a connection without a socket or goroutines: the client's Write carries
// the commands out, unless the link holds them back, and its Read takes what the
// server has written. Neither side's buffer has a bound, as a server that waits for
// a frozen client would keep all others waiting. The link's mutex guards the
// fields; it is not held while the server works.
type conn struct {
	link   *Link
	number int

	// The client's side.
	in       []byte    // replies that have arrived
	late     []segment // replies under way
	readable *sync.Cond
	deadline time.Time // of reads
	timer    *time.Timer
	waiting  bool
	closed   bool // by the client
	broken   error

	// The server's side.
	out      []segment // commands under way
	working  bool      // some goroutine is delivering
	fin      bool      // the client has closed behind out
	gone     bool      // the server has closed, or forgotten its client
	halfOpen bool      // nothing passes any more, and neither side sees it
	muted    bool      // a command was lost
	pubsub   bool
	session  session
}

// segment is what was sent at once, and when it arrives.
type segment struct {
	at   time.Time // zero: now
	data []byte
}

// session is the server's end of a connection. Only who delivers uses it.
type session struct {
	peer *server.Peer
	rest []byte // the beginning of a command
}

func newConn(l *Link, number int) *conn {
	c := &conn{link: l, number: number}
	c.readable = sync.NewCond(&l.mu)
	c.session.peer = server.NewPeer(bufio.NewWriter(replies{c}))
	return c
}

// deepen makes the goroutine's stack large at one go. A script runs deep, mostly on a
// goroutine that is new and would grow its stack several times, copying it each time.
//
//go:noinline
func deepen(at int) byte {
	var room [12 << 10]byte
	return room[at]
}

// Write sends commands. It returns when the server has carried them out, unless
// something holds them back.
func (c *conn) Write(b []byte) (int, error) {
	deepen(len(b) & 1)
	l := c.link
	l.mu.Lock()
	for l.stopped && !c.closed {
		l.resumed.Wait()
	}
	if err := c.brokenLocked(); err != nil {
		l.mu.Unlock()
		return 0, err
	}
	l.sends++
	if l.mode == mute {
		c.muted = true
	}
	if c.muted || c.halfOpen {
		l.mu.Unlock()
		return len(b), nil
	}
	if c.working || l.frozenLocked() || len(c.out) > 0 || l.delay.least > 0 || l.delay.jitter > 0 {
		c.out = append(c.out, c.sendLocked(b))
		l.mu.Unlock()
		c.deliver()
		return len(b), nil
	}
	c.working = true
	l.mu.Unlock()
	c.work(b)
	l.mu.Lock()
	c.working = false
	more := len(c.out) > 0 || c.fin
	l.mu.Unlock()
	if more {
		c.deliver()
	}
	return len(b), nil
}

// sendLocked puts data on its way. It arrives behind what is under way already.
func (c *conn) sendLocked(data []byte) segment {
	s := segment{data: append([]byte(nil), data...)}
	if d := c.link.delay.draw(); d > 0 {
		s.at = time.Now().Add(d)
	}
	return s
}

// deliver carries out what has arrived at the server, unless someone does already.
func (c *conn) deliver() {
	l := c.link
	l.mu.Lock()
	if c.working {
		l.mu.Unlock()
		return
	}
	c.working = true
	for len(c.out) > 0 && !c.gone && !l.frozenLocked() {
		if wait := time.Until(c.out[0].at); !c.out[0].at.IsZero() && wait > 0 {
			time.AfterFunc(wait, c.deliver)
			break
		}
		data := c.out[0].data
		c.out = c.out[1:]
		l.mu.Unlock()
		c.work(data)
		l.mu.Lock()
	}
	c.working = false
	ended := c.fin && len(c.out) == 0 && !c.gone
	l.mu.Unlock()
	if ended {
		c.hangUp()
	}
}

// work carries out the commands in data.
func (c *conn) work(data []byte) {
	s := &c.session
	if len(s.rest) > 0 {
		data = append(s.rest, data...)
	}
	text := string(data) // the arguments are parts of it
	for {
		args, n, err := parseCommand(text)
		if err != nil {
			c.reset()
			return
		}
		if n == 0 {
			s.rest = []byte(text)
			return
		}
		text = text[n:]
		if len(args) == 0 {
			continue
		}
		c.link.mini.execute(c, args)
		s.peer.Flush()
		if s.peer.Closed() { // QUIT
			c.hangUp()
			return
		}
	}
}

// replies is what the server writes to.
type replies struct{ c *conn }

// Write implements io.Writer.
func (r replies) Write(b []byte) (int, error) {
	r.c.link.mu.Lock()
	defer r.c.link.mu.Unlock()
	r.c.replyLocked(b)
	return len(b), nil
}

func (c *conn) replyLocked(b []byte) {
	l := c.link
	switch {
	case c.closed || c.gone || c.halfOpen || c.broken != nil || l.mode == deaf:
	case l.lose > 0 && l.mode == up:
		// The client's end breaks; the server does all it was sent.
		l.lose--
		c.broken, c.fin = syscall.ECONNRESET, true
		c.in, c.late = nil, nil
		delete(l.conns, c)
		c.readable.Broadcast()
	case len(c.late) > 0 || l.delay.least > 0 || l.delay.jitter > 0:
		s := c.sendLocked(b)
		c.late = append(c.late, s)
		if len(c.late) == 1 {
			time.AfterFunc(time.Until(s.at), c.arrive)
		}
	default:
		c.in = append(c.in, b...)
		c.readable.Broadcast()
	}
}

// arrive moves the replies that have come all the way.
func (c *conn) arrive() {
	c.link.mu.Lock()
	defer c.link.mu.Unlock()
	now := time.Now()
	for len(c.late) > 0 && !c.late[0].at.After(now) {
		c.in = append(c.in, c.late[0].data...)
		c.late = c.late[1:]
	}
	if len(c.late) > 0 {
		time.AfterFunc(c.late[0].at.Sub(now), c.arrive)
	}
	c.readable.Broadcast()
}

// Read takes what has arrived.
func (c *conn) Read(b []byte) (int, error) {
	l := c.link
	l.mu.Lock()
	defer l.mu.Unlock()
	for {
		switch {
		case c.closed || l.dead:
			return 0, net.ErrClosed
		case l.stopped:
			l.resumed.Wait() // the server may forget the connection meanwhile
			continue
		case !l.frozenLocked() && len(c.in) > 0:
			n := copy(b, c.in)
			c.in = c.in[n:]
			if len(c.in) == 0 {
				c.in = nil
			}
			return n, nil
		case c.broken != nil:
			return 0, c.broken
		case c.gone && len(c.late) == 0 && !c.halfOpen:
			return 0, io.EOF
		case !c.deadline.IsZero() && !time.Now().Before(c.deadline):
			return 0, os.ErrDeadlineExceeded
		}
		c.waitLocked()
	}
}

// waitLocked waits for any change, at most until the deadline.
func (c *conn) waitLocked() {
	if !c.deadline.IsZero() {
		if c.timer == nil {
			c.timer = time.AfterFunc(time.Until(c.deadline), c.ring)
		} else {
			c.timer.Reset(time.Until(c.deadline))
		}
		defer c.timer.Stop()
	}
	c.waiting = true
	c.readable.Wait()
	c.waiting = false
}

func (c *conn) ring() {
	c.link.mu.Lock()
	defer c.link.mu.Unlock()
	c.readable.Broadcast()
}

// brokenLocked is why the client cannot send.
func (c *conn) brokenLocked() error {
	switch {
	case c.closed || c.link.dead:
		return net.ErrClosed
	case c.broken != nil:
		return c.broken
	case c.gone && !c.halfOpen:
		return syscall.EPIPE
	default:
		return nil
	}
}

// Close ends the connection. The server sees it behind what is under way.
func (c *conn) Close() error {
	c.finish()
	return nil
}

func (c *conn) finish() {
	l := c.link
	l.mu.Lock()
	c.closed, c.fin = true, true
	c.in, c.late = nil, nil
	if !l.frozenLocked() && len(c.out) == 0 && !c.halfOpen {
		delete(l.conns, c) // else the server has still to do with it
	}
	c.readable.Broadcast()
	l.resumed.Broadcast()
	leaked := c.halfOpen
	l.mu.Unlock()
	if !leaked {
		c.deliver()
	}
}

// reset breaks the connection for both sides at once.
func (c *conn) reset() {
	l := c.link
	l.mu.Lock()
	if c.broken == nil {
		c.broken = syscall.ECONNRESET
	}
	c.in, c.late, c.out = nil, nil, nil
	c.readable.Broadcast()
	l.mu.Unlock()
	c.hangUp()
}

// abandon lets nothing pass any more, for ever, on a connection that has subscribed
// or on any. Neither side sees it.
func (c *conn) abandon(subscribed bool) bool {
	l := c.link
	l.mu.Lock()
	defer l.mu.Unlock()
	if subscribed && !c.pubsub {
		return false
	}
	c.halfOpen = true
	c.in, c.late = nil, nil
	if l.dead {
		c.readable.Broadcast()
	}
	return true
}

// hangUp is the server's: the client has gone.
func (c *conn) hangUp() {
	l := c.link
	l.mu.Lock()
	was := c.gone
	c.gone = true
	delete(l.conns, c)
	c.readable.Broadcast()
	pubsub := c.pubsub
	l.mu.Unlock()
	if pubsub && !was {
		l.mini.unsubscribe(c.session.peer)
	}
}

// LocalAddr implements net.Conn.
func (*conn) LocalAddr() net.Addr { return addr{} }

// RemoteAddr implements net.Conn.
func (*conn) RemoteAddr() net.Addr { return addr{} }

// SetDeadline implements net.Conn.
func (c *conn) SetDeadline(t time.Time) error { return c.SetReadDeadline(t) }

// SetReadDeadline implements net.Conn.
func (c *conn) SetReadDeadline(t time.Time) error {
	c.link.mu.Lock()
	defer c.link.mu.Unlock()
	c.deadline = t
	if c.waiting {
		c.readable.Broadcast()
	}
	return nil
}

// SetWriteDeadline implements net.Conn: writing takes no time.
func (*conn) SetWriteDeadline(time.Time) error { return nil }

type addr struct{}

// Network implements net.Addr.
func (addr) Network() string { return "mini" }

// String implements net.Addr.
func (addr) String() string { return miniAddr }
