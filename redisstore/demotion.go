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
// would never end.
const graceOfConn = time.Second

// demotion is a client hook that closes a client's connections when one of them
// answers READONLY: they lead to a server that was demoted. go-redis itself drops
// only the one connection whose single command met the reply, never one that met
// it in a pipeline, nor the subscriptions, which would stay with the replica.
type demotion struct {
	mu    sync.Mutex
	conns map[net.Conn]time.Time
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

		return known, nil
	}
}

// ProcessHook watches single commands.
func (d *demotion) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
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

func (d *demotion) drop() {
	d.mu.Lock()
	var old []net.Conn
	for c, since := range d.conns {
		if time.Since(since) >= graceOfConn {
			old = append(old, c)
			delete(d.conns, c)
		}
	}
	d.mu.Unlock()
	for _, c := range old {
		_ = c.Close()
	}
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
