package redisstore

import (
	"context"
	"errors"
	"net"
	"sync"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
)

// graceOfConn keeps young connections over a READONLY reply: where the address
// still leads to a replica, new ones would be no better, and the reconnecting
// would never end. Once they are that old they go too: who is idle would stay with
// the replica for long.
const graceOfConn = time.Second

// demotion is a client hook that closes a client's connections when one of them
// answers READONLY: they lead to a server that was demoted. go-redis itself drops
// only the one connection whose single command met the reply, never one that met
// it in a pipeline, nor the subscriptions, which would stay with the replica.
type demotion struct {
	mu    sync.Mutex
	conns map[net.Conn]time.Time
	later bool // young connections will be closed
}

func newDemotion() *demotion { return &demotion{conns: map[net.Conn]time.Time{}} }

// DialHook remembers each connection until it is closed.
func (d *demotion) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := next(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		d.mu.Lock()
		defer d.mu.Unlock()
		d.conns[c] = time.Now()
		known := &knownConn{Conn: c, closed: func() { d.forget(c) }}
		if sys, ok := c.(syscall.Conn); ok {
			// go-redis looks at the socket before it takes an idle connection.
			return &socketConn{knownConn: known, Conn: sys}, nil
		}

		return &coveredConn{knownConn: known, open: func() bool { return d.knows(c) }}, nil
	}
}

// Follow has a client follow its address from one server to the next: see [Open] and
// [Reconnect]. It is for clients that Open has not made, once each, before their use.
func Follow(client *redis.Client) { client.AddHook(newDemotion()) }

// Reconnect closes the connections that a client of Open, or of [Follow], has made so far,
// those of subscriptions too. What waits for an answer fails, and may have taken effect. It
// is for when the address is known to lead elsewhere while the server before goes on: it
// answers, so nothing else ends them. A client of a cluster asks that where to go.
func Reconnect(ctx context.Context, client redis.UniversalClient) {
	if server, ok := client.(*redis.Client); ok {
		_ = server.Process(ctx, &reconnect{redis.NewCmd(ctx, "PING")}) // which is never sent
	}
}

// reconnect is a command to the hook: go-redis knows no other way to it.
type reconnect struct{ *redis.Cmd }

// ProcessHook watches single commands.
func (d *demotion) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if _, ok := cmd.(*reconnect); ok {
			d.dropAll()

			return nil
		}
		err := next(ctx, cmd)
		d.watch(err)

		return err
	}
}

// ProcessPipelineHook watches each command of a pipeline.
func (d *demotion) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err := next(ctx, cmds)
		for _, cmd := range cmds {
			if d.watch(cmd.Err()) {
				break
			}
		}

		return err
	}
}

func (d *demotion) watch(err error) bool {
	if err == nil || errors.Is(err, redis.Nil) || !redis.IsReadOnlyError(err) {
		return false
	}
	d.drop()

	return true
}

// drop closes the connections that are old enough, and has the others closed when they are.
func (d *demotion) drop() {
	now := time.Now()
	d.mu.Lock()
	old := d.takeBefore(now.Add(-graceOfConn))
	again := len(d.conns) > 0 && !d.later
	d.later = d.later || again
	d.mu.Unlock()
	if again {
		time.AfterFunc(graceOfConn, func() { d.dropLater(now) })
	}
	closeAll(old)
}

func (d *demotion) dropAll() {
	d.mu.Lock()
	all := d.takeBefore(time.Now())
	d.mu.Unlock()
	closeAll(all)
}

// dropLater closes what was dialed up to the moment of a READONLY reply.
func (d *demotion) dropLater(answered time.Time) {
	d.mu.Lock()
	d.later = false
	old := d.takeBefore(answered)
	d.mu.Unlock()
	closeAll(old)
}

// takeBefore takes out the connections that were dialed by then. It needs the lock.
func (d *demotion) takeBefore(then time.Time) []net.Conn {
	var old []net.Conn
	for c, since := range d.conns {
		if !since.After(then) {
			old = append(old, c)
			delete(d.conns, c)
		}
	}

	return old
}

func closeAll(conns []net.Conn) {
	for _, c := range conns {
		_ = c.Close()
	}
}

func (d *demotion) knows(c net.Conn) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, ok := d.conns[c]

	return ok
}

func (d *demotion) forget(c net.Conn) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.conns, c)
}

type knownConn struct {
	net.Conn

	closed func()
}

// Close closes the connection and forgets it.
func (c *knownConn) Close() error {
	c.closed()

	return c.Conn.Close()
}

type socketConn struct {
	*knownConn
	syscall.Conn
}

// coveredConn is one whose socket can't be looked at, as TLS covers it. go-redis would take
// each that was closed here for one that works, until a command fails on it.
type coveredConn struct {
	*knownConn

	open func() bool
}

// SyscallConn implements syscall.Conn for go-redis alone, which looks at idle connections.
func (c *coveredConn) SyscallConn() (syscall.RawConn, error) {
	if !c.open() {
		return nil, net.ErrClosed
	}

	return unseen{}, nil
}

// unseen is a socket of which nothing is known.
type unseen struct{}

func (unseen) Control(func(uintptr)) error    { return nil }
func (unseen) Read(func(uintptr) bool) error  { return nil }
func (unseen) Write(func(uintptr) bool) error { return nil }
