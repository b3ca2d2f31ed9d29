package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"leasehold/config"
	"leasehold/httpapi"
	"leasehold/metrics"
	"leasehold/node"
)

const (
	httpAddrVar = "LEASEHOLD_HTTP_ADDR"

	// requestLimit bounds the reading of a request and the writing of an answer; those
	// that wait on purpose get more: see package httpapi.
	requestLimit = 10 * time.Second
	// idleLimit is how long a connection may wait for its next request: longer than
	// workers take from renewal to renewal.
	idleLimit = 2 * time.Minute
	// headerLimit bounds the headers of a request, in bytes; an ID in a path can have
	// 1536 when each of its bytes is escaped.
	headerLimit = 64 << 10
	// closeLimit bounds the wait for answers under way when the node has stopped.
	closeLimit = time.Second
)

// server is the node's HTTP server, or nothing where none is wanted.
type server struct {
	addr     string // as bound; empty: none
	listener net.Listener
	http     *http.Server
	tls      *tls.Config // nil: not encrypted
	users    httpapi.Users

	// stop is closed when the node is about to stop.
	stop chan struct{}
	once sync.Once
}

// bind takes the address of the settings. Nothing is answered before serve. What the
// certificate's files hold of use no more is told to warn.
func bind(ctx context.Context, cfg config.Config, warn func(reason string)) (*server, error) {
	s := &server{stop: make(chan struct{})}
	if cfg.HTTPAddr == "" {
		return s, nil
	}
	var err error
	if s.tls, err = cfg.HTTPTLS(warn); err != nil { // it was sound when the settings were read
		return nil, fmt.Errorf("LEASEHOLD_HTTP_CERT_FILE can not be used: %w", err)
	}
	users, err := cfg.APIUsers()
	if err != nil {
		return nil, fmt.Errorf("LEASEHOLD_API_USERS_FILE can not be used: %w", err)
	}
	if users != nil {
		s.users = users
	}
	listener, err := listen(ctx, cfg)
	if err != nil {
		return nil, err
	}
	s.addr, s.listener = listener.Addr().String(), listener
	return s, nil
}

// serve answers for the node from now on.
func (s *server) serve(running *node.Node, client redis.UniversalClient, leases httpapi.Leases, m *metrics.Metrics) {
	if s.listener == nil {
		return
	}
	leases.Users = s.users
	leases.Loopback, leases.Stop = onLoopback(s.listener.Addr()), s.stop
	leases.Watch = func(limit int) httpapi.Feed { return running.Watch(limit) }
	leases.Follow = func(limit int) httpapi.Feed { return running.Follow(limit) }
	s.http = &http.Server{
		Handler: m.HTTP(httpapi.New(httpapi.Config{
			Ready: s.checks(running, client), Live: alive(running), Leases: &leases, Metrics: m.Handler(),
		})),
		ReadTimeout:       requestLimit,
		ReadHeaderTimeout: requestLimit,
		WriteTimeout:      requestLimit,
		IdleTimeout:       idleLimit,
		MaxHeaderBytes:    headerLimit,
		// It would write text between our lines, about what clients did wrong.
		ErrorLog: log.New(io.Discard, "", 0),
	}
	run := s.http.Serve
	if s.tls != nil {
		s.http.TLSConfig = s.tls
		run = func(l net.Listener) error { return s.http.ServeTLS(l, "", "") }
	}
	go func() { _ = run(s.listener) }() // ends by close; health is then asked in vain
}

// listen binds the address. Where the default's port is taken, by another node of
// this host, any free one will do.
func listen(ctx context.Context, cfg config.Config) (net.Listener, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", cfg.HTTPAddr)
	if err == nil {
		return l, nil
	}
	if cfg.Source(httpAddrVar) == config.Default && errors.Is(err, syscall.EADDRINUSE) {
		return lc.Listen(ctx, "tcp", "127.0.0.1:0")
	}
	return nil, fmt.Errorf("%s (%s) can not be listened at: %w", httpAddrVar, cfg.HTTPAddr, err)
}

// onLoopback reports whether nobody outside this machine can connect.
func onLoopback(addr net.Addr) bool {
	tcp, ok := addr.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}

// checks are the conditions of being ready.
func (s *server) checks(running *node.Node, client redis.UniversalClient) []httpapi.Check {
	return []httpapi.Check{
		{Name: "redis", Probe: func(ctx context.Context) error { return client.Ping(ctx).Err() }},
		{Name: "heartbeat", Probe: func(context.Context) error {
			if !running.Fresh() {
				return errors.New("the heartbeat was not accepted in time")
			}
			return nil
		}},
		{Name: "draining", Probe: func(context.Context) error {
			select {
			case <-s.stop:
				return errors.New("the node is draining")
			default:
				return nil
			}
		}},
	}
}

// alive are the conditions of being alive. None depends on Redis.
func alive(running *node.Node) []httpapi.Check {
	return []httpapi.Check{
		{Name: "event loop", Probe: func(context.Context) error { return running.Moving() }},
		{Name: "polls", Probe: func(context.Context) error { return running.Bounded() }},
	}
}

// draining has /readyz say so, and keeps nobody waiting any more.
func (s *server) draining() { s.once.Do(func() { close(s.stop) }) }

func (s *server) close() {
	s.draining()
	switch {
	case s.listener == nil:
		return
	case s.http == nil:
		_ = s.listener.Close() // nobody has connected yet
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeLimit) //nolint:forbidigo // outlives the node on purpose
	defer cancel()
	_ = s.http.Shutdown(ctx) // what is still open then is cut
}
