package httppoll

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http/httptrace"
	"sync/atomic"
)

// ErrLate is the error of a poll whose request was not sent, or not sent again, as
// Request.Holds said no.
var ErrLate = errors.New("the lease ended before the request was sent")

// permit is one poll's leave to send. Connecting, waiting for a connection and the
// scheduler can take long after the poll began, most of all where the process is frozen
// just then; its context learns of that by a timer, which may ring too late.
type permit struct {
	holds  func() bool
	refuse context.CancelFunc
	denied atomic.Bool
}

// traced has each request under ctx ask the permit at the last moment, those too that
// net/http sends anew.
func (p *permit) traced(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) {
		if g := guardOf(info.Conn); g != nil {
			g.permit.Store(p)
			return
		}
		_ = p.ask() // HTTP/2 looks at the context before it sends
	}})
}

// ask ends the poll, and fails, if it must not send any more.
func (p *permit) ask() error {
	if p.holds() {
		return nil
	}
	p.denied.Store(true)
	p.refuse()
	return ErrLate
}

// guard is a connection that asks for a permit right before it writes the beginning of a
// request.
type guard struct {
	net.Conn

	permit atomic.Pointer[permit] // of the request to be written; nil once that was asked
	shared bool                   // by requests, as those of HTTP/2 are; set before use
}

// Write implements net.Conn.
func (g *guard) Write(b []byte) (int, error) {
	if p := g.permit.Swap(nil); p != nil {
		if err := p.ask(); err != nil {
			return 0, err
		}
	}
	return g.Conn.Write(b)
}

// guardOf finds the guard of a connection that carries one request at a time.
func guardOf(conn net.Conn) *guard {
	if secure, ok := conn.(*tls.Conn); ok {
		conn = secure.NetConn()
	}
	g, ok := conn.(*guard)
	if !ok || g.shared {
		return nil
	}
	return g
}
