package redistest

import (
	"bytes"
	"regexp"
	"time"
)

// Requests are matched as they come off the socket, with one read: enough for
// clients that send one command, or one pipeline, at a time.

// faults are what a proxy does besides passing bytes on. The proxy's mutex guards
// them.
type faults struct {
	lose   []*loss
	cut    *regexp.Regexp
	answer *regexp.Regexp
	reply  string
	refuse bool
	delay  time.Duration
	block  [2]bool // replies, requests
}

// loss is one reply that is to get lost.
type loss struct {
	of   *regexp.Regexp
	done chan struct{}
}

// LoseReply lets the next request that matches be carried out, and closes its
// connection instead of answering. The channel is closed when that has happened.
func (p *Proxy) LoseReply(pattern string) <-chan struct{} {
	l := &loss{of: regexp.MustCompile(pattern), done: make(chan struct{})}
	p.alter(func(f *faults) { f.lose = append(f.lose, l) })
	return l.done
}

// CutOn closes the connection of each request that matches, which the server never
// sees.
func (p *Proxy) CutOn(pattern string) {
	p.alter(func(f *faults) { f.cut = regexp.MustCompile(pattern) })
}

// Answer gives this error, such as "ERR injected", to each request that matches,
// which the server never sees.
func (p *Proxy) Answer(pattern, reply string) {
	p.alter(func(f *faults) { f.answer, f.reply = regexp.MustCompile(pattern), reply })
}

// Refuse closes all connections, and each new one at once.
func (p *Proxy) Refuse() {
	p.alter(func(f *faults) { f.refuse = true })
	p.Drop()
}

// Delay holds each reply back for a time.
func (p *Proxy) Delay(d time.Duration) {
	p.alter(func(f *faults) { f.delay = d })
}

// Block lets nothing pass in the directions named, on new connections either, as
// if packets were dropped. What was sent meanwhile arrives after Heal, even if its
// sender gave up.
func (p *Proxy) Block(requests, replies bool) {
	p.alter(func(f *faults) { f.block = [2]bool{replies, requests} })
}

// Heal ends all faults but frozen connections, which stay dead.
func (p *Proxy) Heal() {
	p.alter(func(f *faults) { *f = faults{} })
}

func (p *Proxy) alter(change func(*faults)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change(&p.faults)
	p.change.Broadcast()
}

// fate is what becomes of bytes that came.
type fate int

const (
	passed fate = iota
	answered
	closed
)

// decide waits while nothing may pass, and says what becomes of the bytes. The
// reply is for those that were answered.
func (c *proxied) decide(data []byte, requests bool) (f fate, reply []byte) {
	p := c.proxy
	if !requests {
		c.hold(len(data) > 0)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if requests {
		c.subscribed = c.subscribed || bytes.Contains(bytes.ToLower(data), []byte("subscribe\r\n"))
	}
	for !c.closed && (c.frozen || len(data) > 0 && p.faults.block[direction(requests)]) {
		p.change.Wait()
	}
	switch {
	case c.closed, !requests && c.lost:
		return closed, nil
	case requests && len(data) > 0:
		return c.meet(data)
	default:
		return passed, nil
	}
}

func direction(requests bool) int {
	if requests {
		return 1
	}
	return 0
}

// hold waits for as long as replies are delayed.
func (c *proxied) hold(something bool) {
	c.proxy.mu.Lock()
	d := c.proxy.faults.delay
	c.proxy.mu.Unlock()
	if something && d > 0 {
		time.Sleep(d)
	}
}

// meet applies the faults that depend on the request. It needs the mutex.
func (c *proxied) meet(data []byte) (f fate, reply []byte) {
	faults := &c.proxy.faults
	if faults.cut != nil && faults.cut.Match(data) {
		return closed, nil
	}
	if faults.answer != nil && faults.answer.Match(data) {
		return answered, bytes.Repeat([]byte("-"+faults.reply+"\r\n"), commands(data))
	}
	for i, l := range faults.lose {
		if l.of.Match(data) {
			faults.lose = append(faults.lose[:i:i], faults.lose[i+1:]...)
			c.lost = true
			close(l.done)
			break
		}
	}
	return passed, nil
}

// commands counts what a client expects answers to.
func commands(data []byte) int {
	return max(1, len(regexp.MustCompile(`(?:^|\r\n)\*\d+\r\n`).FindAll(data, -1)))
}
