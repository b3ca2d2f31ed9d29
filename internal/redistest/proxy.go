package redistest

import (
	"context"
	"net"
	"sync"
	"testing"
)

// Proxy carries real TCP connections to a server and can fail as networks do. All
// methods may be called from any goroutine.
type Proxy struct {
	listener net.Listener

	mu     sync.Mutex
	change *sync.Cond
	target string
	conns  map[*proxied]struct{}
	faults faults
	ended  bool
	wg     sync.WaitGroup
}

// StartProxy forwards a free loopback port to the target until the test ends.
func StartProxy(tb testing.TB, target string) *Proxy {
	tb.Helper()
	var lc net.ListenConfig
	l, err := lc.Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatalf("start a proxy: %v", err)
	}
	p := &Proxy{listener: l, target: target, conns: map[*proxied]struct{}{}}
	p.change = sync.NewCond(&p.mu)
	p.wg.Go(p.accept)
	tb.Cleanup(p.close)
	return p
}

// Addr is host:port of the proxy.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Retarget leads new connections elsewhere; open ones stay where they are.
func (p *Proxy) Retarget(target string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.target = target
}

// FreezeSubscribers stops passing anything on connections that have subscribed:
// they stay open and dead for ever. It returns how many those are.
func (p *Proxy) FreezeSubscribers() int {
	return p.freeze(func(c *proxied) bool { return c.subscribed })
}

// Freeze does the same to all open connections. New ones work.
func (p *Proxy) Freeze() int {
	return p.freeze(func(*proxied) bool { return true })
}

// Drop closes all open connections.
func (p *Proxy) Drop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		c.close()
	}
}

func (p *Proxy) freeze(match func(*proxied) bool) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for c := range p.conns {
		if match(c) {
			c.frozen = true
			n++
		}
	}
	return n
}

func (p *Proxy) close() {
	_ = p.listener.Close()
	p.mu.Lock()
	p.ended = true
	for c := range p.conns {
		c.close()
	}
	p.change.Broadcast()
	p.mu.Unlock()
	p.wg.Wait()
}

func (p *Proxy) accept() {
	for {
		near, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.wg.Go(func() { p.carry(near) })
	}
}

func (p *Proxy) carry(near net.Conn) {
	p.mu.Lock()
	target, ended := p.target, p.ended || p.faults.refuse
	p.mu.Unlock()
	if ended {
		_ = near.Close()
		return
	}
	var d net.Dialer
	far, err := d.DialContext(context.Background(), "tcp", target)
	if err != nil {
		_ = near.Close()
		return
	}
	c := &proxied{proxy: p, near: near, far: far}
	p.mu.Lock()
	p.conns[c] = struct{}{}
	p.mu.Unlock()
	p.wg.Go(func() { c.copy(far, near, true) })
	c.copy(near, far, false)
	p.mu.Lock()
	delete(p.conns, c)
	p.mu.Unlock()
}

// proxied is one connection. The proxy's mutex guards its flags.
type proxied struct {
	proxy     *Proxy
	near, far net.Conn

	subscribed, frozen, closed bool
	lost                       bool // the next reply closes the connection
}

// close is called with the proxy's mutex held.
func (c *proxied) close() {
	c.closed = true
	_, _ = c.near.Close(), c.far.Close()
	c.proxy.change.Broadcast()
}

// copy passes bytes on until either end is gone.
func (c *proxied) copy(to, from net.Conn, requests bool) {
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if !c.pass(to, from, buf[:n], requests) || err != nil {
			break
		}
	}
	c.proxy.mu.Lock()
	c.close()
	c.proxy.mu.Unlock()
}

// pass does with the bytes what it must, and reports whether the connection is
// still open.
func (c *proxied) pass(to, from net.Conn, data []byte, requests bool) bool {
	fate, reply := c.decide(data, requests)
	var err error
	switch {
	case fate == closed:
		return false
	case fate == answered:
		_, err = from.Write(reply)
	case len(data) > 0:
		_, err = to.Write(data)
	}
	return err == nil
}
