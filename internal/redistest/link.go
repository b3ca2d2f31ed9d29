package redistest

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"time"
)

// ErrCut is what dialing over a cut link answers.
var ErrCut = errors.New("link is cut: connection refused")

// mode is how a link, or the server behind it, treats what is sent.
type mode int

const (
	up mode = iota
	frozen
	deaf
	mute
	cut
)

// Link carries the connections of one client process and can fail on command. All
// methods may be called from any goroutine.
type Link struct {
	mini *Mini

	mu      sync.Mutex
	mode    mode       // of the network between
	host    mode       // of the server: up, frozen or cut
	stopped bool       // the client's process stands still
	dead    bool       // it has ended
	resumed *sync.Cond // stopped has ended
	failing failing
	delay   delay
	lose    int
	sends   int
	made    int
	conns   map[*conn]struct{}
}

// failing is an error that commands get instead of being carried out.
type failing struct {
	text string
	only []string // in upper case; empty: all
}

func (f failing) hits(cmd string) bool {
	return f.text != "" && (len(f.only) == 0 || slices.Contains(f.only, cmd))
}

// delay is how long bytes take each way.
type delay struct {
	least, jitter time.Duration
	rnd           *rand.Rand
}

func (d delay) draw() time.Duration {
	if d.jitter <= 0 || d.rnd == nil {
		return d.least
	}
	return d.least + time.Duration(d.rnd.Int64N(int64(d.jitter)))
}

func newLink(m *Mini) *Link {
	l := &Link{mini: m, conns: map[*conn]struct{}{}}
	l.resumed = sync.NewCond(&l.mu)
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

// Mute swallows all commands; what the server sends by itself still arrives. A
// connection that lost a command is of no use any more, as after Heal it would
// take up in the middle of one.
func (l *Link) Mute() { l.set(mute) }

// Heal ends Cut, Freeze, Deafen and Mute.
func (l *Link) Heal() { l.set(up) }

// Delay lets all bytes take d, and up to jitter more, each way; zero ends it. They
// stay in order. rnd, which may be nil, is used from other goroutines: it must be
// this link's alone.
func (l *Link) Delay(d, jitter time.Duration, rnd *rand.Rand) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.delay = delay{least: d, jitter: jitter, rnd: rnd}
}

// Fail answers commands with an error, in place of carrying them out: those named,
// or all. An empty text ends it.
func (l *Link) Fail(text string, only ...string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failing = failing{text: text, only: only}
}

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

// Made counts the connections that ever were.
func (l *Link) Made() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.made
}

// Connections counts those that are open for the client.
func (l *Link) Connections() int { return len(l.used()) }

// Drop closes the connections that are open now; new ones work.
func (l *Link) Drop() {
	for _, c := range l.open() {
		c.reset()
	}
}

// KillConnections closes n of the open connections, drawn by rnd, or the oldest.
func (l *Link) KillConnections(n int, rnd *rand.Rand) {
	conns := l.used()
	if rnd != nil {
		rnd.Shuffle(len(conns), func(i, j int) { conns[i], conns[j] = conns[j], conns[i] })
	}
	for _, c := range conns[:min(n, len(conns))] {
		c.reset()
	}
}

// DeafSubscription lets the connections that have subscribed hear nothing more.
// They stay open for both sides and dead for ever; new ones work. It returns how
// many they are.
func (l *Link) DeafSubscription() int {
	n := 0
	for _, c := range l.open() {
		if c.abandon(true) {
			n++
		}
	}
	return n
}

// Suspend stops the client's process between two steps: it sends nothing, and
// reads nothing of what arrives, until Resume. What it sent before is under way.
func (l *Link) Suspend() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stopped = true
}

// Resume ends Suspend. Whatever waited goes on where it stood: a command that was
// about to be sent is sent, however late it is.
func (l *Link) Resume() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stopped = false
	l.wakeLocked()
}

// Kill ends the client's process for good: nothing is sent any more, the server
// sees all connections closed behind what is under way.
func (l *Link) Kill() { l.die((*conn).finish) }

// Vanish ends the client's process as a power cut does: as Kill, but the server
// sees nothing of it.
func (l *Link) Vanish() { l.die(func(c *conn) { c.abandon(false) }) }

func (l *Link) die(each func(*conn)) {
	l.mu.Lock()
	l.dead, l.stopped = true, false
	l.wakeLocked()
	l.mu.Unlock()
	for _, c := range l.open() {
		each(c)
	}
}

// Dial opens a connection over the link.
func (l *Link) Dial() (net.Conn, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.stopped {
		l.resumed.Wait()
	}
	if l.mode == cut || l.host == cut || l.dead {
		return nil, ErrCut
	}
	l.made++
	c := newConn(l, l.made)
	l.conns[c] = struct{}{}
	return c, nil
}

func (l *Link) dialer(ctx context.Context, _, _ string) (net.Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return l.Dial()
}

func (l *Link) set(m mode) {
	l.mu.Lock()
	l.mode = m
	l.mu.Unlock()
	l.flow()
}

// setHost says how the server is.
func (l *Link) setHost(m mode) {
	l.mu.Lock()
	l.host = m
	l.mu.Unlock()
	if m == cut {
		l.Drop()
	}
	l.flow()
}

// flow lets go what the link held back.
func (l *Link) flow() {
	for _, c := range l.open() {
		c.deliver()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.wakeLocked()
}

func (l *Link) wakeLocked() {
	l.resumed.Broadcast()
	for c := range l.conns {
		c.readable.Broadcast()
	}
}

// frozenLocked reports whether nothing passes, for now.
func (l *Link) frozenLocked() bool { return l.mode == frozen || l.host == frozen }

// used lists the connections that the client has not closed, the oldest first.
func (l *Link) used() []*conn {
	conns := l.open()
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.DeleteFunc(conns, func(c *conn) bool { return c.closed })
}

// open lists the connections that the server has to do with, the oldest first.
func (l *Link) open() []*conn {
	l.mu.Lock()
	defer l.mu.Unlock()
	conns := make([]*conn, 0, len(l.conns))
	for c := range l.conns {
		conns = append(conns, c)
	}
	slices.SortFunc(conns, func(a, b *conn) int { return cmp.Compare(a.number, b.number) })
	return conns
}

func (l *Link) close() {
	l.mu.Lock()
	l.dead, l.stopped = true, false
	l.wakeLocked()
	l.mu.Unlock()
	l.Drop()
}
