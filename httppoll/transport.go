package httppoll

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/http/httptrace"
	"time"
)

const (
	maxHeaderBytes = 256 << 10

	// A connection of HTTP/2 outlives the polls that time out on it. Without these
	// pings a dead one would fail every poll of its host for as long as TCP hopes.
	pingAfter = 10 * time.Second
	pingLimit = 5 * time.Second
)

func newTransport(cfg Config) *http.Transport {
	d := dialer{
		net: net.Dialer{Timeout: cfg.DialTimeout, ControlContext: deny(cfg.Deny)},
		tls: &tls.Config{
			MinVersion: tls.VersionTLS12,
			NextProtos: []string{"h2", "http/1.1"},
			RootCAs:    cfg.RootCAs,
		},
		handshake: cfg.DialTimeout,
	}
	return &http.Transport{
		Proxy:          nil, // see the package's doc
		DialContext:    d.dial,
		DialTLSContext: d.dialTLS,

		MaxIdleConns:        cfg.MaxIdle,
		MaxIdleConnsPerHost: min(cfg.Concurrency, cfg.MaxIdle),
		IdleConnTimeout:     cfg.IdleTimeout,

		// Answers are decompressed here, so that one rule bounds all of them.
		DisableCompression:     true,
		MaxResponseHeaderBytes: maxHeaderBytes,
		ExpectContinueTimeout:  time.Second,

		ForceAttemptHTTP2: true,
		HTTP2:             &http.HTTP2Config{SendPingTimeout: pingAfter, PingTimeout: pingLimit},
	}
}

// dialer connects and says in which phase it failed, which net/http would lose.
type dialer struct {
	net       net.Dialer
	tls       *tls.Config
	handshake time.Duration
}

func (d *dialer) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	g, err := d.connect(ctx, network, addr)
	if err != nil {
		return nil, err // a nil guard would be a connection
	}
	return g, nil
}

func (d *dialer) connect(ctx context.Context, network, addr string) (*guard, error) {
	conn, err := d.net.DialContext(ctx, network, addr)
	if d, ok := errors.AsType[*denied](err); ok {
		return nil, &dialError{class: ClassDenied, err: d}
	}
	if err != nil {
		return nil, &dialError{class: dialClass(err), err: err}
	}
	return &guard{Conn: conn}, nil
}

func (d *dialer) dialTLS(ctx context.Context, network, addr string) (net.Conn, error) {
	raw, err := d.connect(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		host = addr
	}
	cfg := d.tls.Clone()
	cfg.ServerName = host

	conn := tls.Client(raw, cfg)
	ctx, cancel := context.WithTimeout(ctx, d.handshake)
	defer cancel()
	if err := handshake(ctx, conn); err != nil {
		_ = raw.Close()
		return nil, &dialError{class: ClassTLS, err: err}
	}
	raw.shared = conn.ConnectionState().NegotiatedProtocol == "h2"
	return conn, nil
}

// handshake tells who traces the poll, as net/http does of the handshakes that it makes
// itself.
func handshake(ctx context.Context, conn *tls.Conn) error {
	trace := httptrace.ContextClientTrace(ctx)
	if trace != nil && trace.TLSHandshakeStart != nil {
		trace.TLSHandshakeStart()
	}
	err := conn.HandshakeContext(ctx)
	if trace != nil && trace.TLSHandshakeDone != nil {
		trace.TLSHandshakeDone(conn.ConnectionState(), err)
	}
	return err
}
