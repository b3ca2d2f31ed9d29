package wiretest

import (
	"bufio"
	"context"
	"net"
	"strings"
	"sync"
	"testing"
	"time"
)

// Way is what a wire does with one direction of its connections.
type Way int

const (
	// Pass carries what comes.
	Pass Way = iota
	// Hold keeps what comes, and carries it once the direction passes again: a command
	// takes effect long after its sender gave up.
	Hold
	// Lose swallows what comes. A connection that lost anything is closed by Heal, since
	// no reply would fit its command any more.
	Lose
)

// Exchange is one command that a client sent over a wire, and what became of it. Call
// is before the server can have seen it, Return is after the server answered. Where
// the connection ended before the answer was seen, Known is false: it may have taken
// effect, or may yet.
type Exchange struct {
	Args         []string
	Reply        any
	Call, Return time.Time
	Known        bool
}

// Wire carries the TCP connections of one client to a server, command by command. It
// fails by direction as networks do, and tells what passed. All methods may be called
// from any goroutine.
type Wire struct {
	target   string
	tap      func(Exchange)
	listener net.Listener

	mu                sync.Mutex
	change            *sync.Cond
	requests, replies Way
	conns             map[*wired]struct{}
	ended             bool
	wg                sync.WaitGroup
}

// Start forwards a free loopback port to the target until the test ends. The tap
// gets each command that reached the server, once it is answered or cannot be any
// more; commands that subscribe, and all after them on their connection, are carried
// untold. The tap may be nil, and is called by many goroutines.
func Start(tb testing.TB, target string, tap func(Exchange)) *Wire {
	tb.Helper()
	var lc net.ListenConfig
	l, err := lc.Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatalf("start a wire: %v", err)
	}
	if tap == nil {
		tap = func(Exchange) {}
	}
	w := &Wire{target: target, tap: tap, listener: l, conns: map[*wired]struct{}{}}
	w.change = sync.NewCond(&w.mu)
	w.wg.Go(w.accept)
	tb.Cleanup(w.Close)

	return w
}

// Addr is host:port of the wire.
func (w *Wire) Addr() string { return w.listener.Addr().String() }

// Set says what becomes of commands and of replies, also on connections that are
// opened from now on.
func (w *Wire) Set(requests, replies Way) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.requests, w.replies = requests, replies
	w.change.Broadcast()
}

// Heal lets both directions pass again and closes the connections that lost something.
func (w *Wire) Heal() {
	w.Set(Pass, Pass)
	w.each(func(c *wired) {
		if c.lostCommand || c.lostReply {
			c.close()
		}
	})
}

// Drop closes all open connections, also those to the server: commands in flight have
// an unknown outcome. New ones work.
func (w *Wire) Drop() { w.each((*wired).close) }

// Close ends the wire, and returns when the tap has been told everything.
func (w *Wire) Close() {
	_ = w.listener.Close()
	w.mu.Lock()
	w.ended = true
	w.mu.Unlock()
	w.Drop()
	w.wg.Wait()
}

// each calls f for all connections with the mutex held.
func (w *Wire) each(f func(*wired)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for c := range w.conns {
		f(c)
	}
	w.change.Broadcast()
}

func (w *Wire) accept() {
	for {
		near, err := w.listener.Accept()
		if err != nil {
			return
		}
		w.wg.Go(func() { w.carry(near) })
	}
}

func (w *Wire) carry(near net.Conn) {
	var d net.Dialer
	far, err := d.DialContext(context.Background(), "tcp", w.target)
	if err != nil {
		_ = near.Close()

		return
	}
	c := &wired{wire: w, near: near, far: far}
	w.mu.Lock()
	w.conns[c] = struct{}{}
	if w.ended {
		c.close()
	}
	w.mu.Unlock()
	w.wg.Go(c.hear)
	c.send()
}

// lastReplies is how long the server may take to answer a client that has gone.
const lastReplies = time.Second

// wired is one connection. The wire's mutex guards what follows it.
type wired struct {
	wire      *Wire
	near, far net.Conn

	pending     []Exchange
	subscribed  bool // replies do not belong to commands any more
	lostCommand bool // and so will be all that follow
	lostReply   bool // likewise
	closed      bool
}

// send carries commands until the client has gone. Then the server may answer what it
// was sent: what has become of it is known so.
func (c *wired) send() {
	in := bufio.NewReaderSize(c.near, 64<<10)
	for {
		args, raw, err := readCommand(in)
		if err != nil || !c.forward(args, raw) {
			break
		}
	}
	_ = c.far.SetReadDeadline(time.Now().Add(lastReplies))
	c.wire.mu.Lock()
	if len(c.pending) == 0 {
		c.close()
	}
	c.wire.mu.Unlock()
}

// forward passes one command on as the wire wants, and says whether there may be more.
func (c *wired) forward(args []string, raw []byte) bool {
	if !c.admit(args) {
		return !c.isClosed()
	}
	_, err := c.far.Write(raw)

	return err == nil
}

func (c *wired) isClosed() bool {
	c.wire.mu.Lock()
	defer c.wire.mu.Unlock()

	return c.closed
}

// admit notes a command that goes out now; one that is lost, or held when the
// connection ends, is not noted.
func (c *wired) admit(args []string) bool {
	c.wire.mu.Lock()
	defer c.wire.mu.Unlock()
	for c.wire.requests == Hold && !c.closed {
		c.wire.change.Wait()
	}
	if c.closed {
		return false
	}
	if c.wire.requests == Lose || c.lostCommand {
		c.lostCommand = true

		return false
	}
	if len(args) > 0 && strings.HasSuffix(strings.ToLower(args[0]), "subscribe") {
		c.subscribed = true
	}
	if !c.subscribed {
		c.pending = append(c.pending, Exchange{Args: args, Call: time.Now()})
	}

	return true
}

// hear carries replies, tells the tap, and ends the connection when the server has.
func (c *wired) hear() {
	in := bufio.NewReaderSize(c.far, 64<<10)
	for {
		reply, raw, err := readReply(in)
		if err != nil {
			break
		}
		c.tell(reply)
		if !c.letThrough() {
			continue
		}
		_, _ = c.near.Write(raw) // a client that has gone does not end the replies
	}
	c.wire.mu.Lock()
	c.close()
	delete(c.wire.conns, c)
	unknown := c.pending
	c.pending = nil
	c.wire.mu.Unlock()
	for _, e := range unknown {
		c.wire.tap(e)
	}
}

// tell matches a reply with the oldest command that has none.
func (c *wired) tell(reply any) {
	c.wire.mu.Lock()
	if len(c.pending) == 0 {
		c.wire.mu.Unlock()

		return
	}
	e := c.pending[0]
	c.pending = c.pending[1:]
	c.wire.mu.Unlock()
	e.Reply, e.Return, e.Known = reply, time.Now(), true
	c.wire.tap(e)
}

// letThrough waits as the wire wants and says whether the reply arrives.
func (c *wired) letThrough() bool {
	c.wire.mu.Lock()
	defer c.wire.mu.Unlock()
	for c.wire.replies == Hold && !c.closed {
		c.wire.change.Wait()
	}
	if c.wire.replies == Lose || c.lostReply {
		c.lostReply = true

		return false
	}

	return !c.closed
}

// close needs the wire's mutex.
func (c *wired) close() {
	c.closed = true
	_, _ = c.near.Close(), c.far.Close()
	c.wire.change.Broadcast()
}
