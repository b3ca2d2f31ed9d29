package target

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

const headerTimeout = 10 * time.Second

// Server serves a target on one address.
type Server struct {
	http *http.Server
	addr string
	done chan error
}

// Serve listens on the address, "127.0.0.1:0" for any free port of the loopback, and
// serves the target until ctx ends or Close is called.
func Serve(ctx context.Context, addr string, t *Target) (*Server, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("poll target: %w", err)
	}
	s := &Server{
		http: &http.Server{
			Handler:           t,
			ReadHeaderTimeout: headerTimeout,
			BaseContext:       func(net.Listener) context.Context { return ctx },
		},
		addr: l.Addr().String(),
		done: make(chan error, 1),
	}
	stop := context.AfterFunc(ctx, func() { _ = s.http.Close() })
	go func() {
		defer stop()
		s.done <- s.http.Serve(l)
		close(s.done)
	}()
	return s, nil
}

// Addr is the host and port the server listens on.
func (s *Server) Addr() string { return s.addr }

// URL is where the session is polled.
func (s *Server) URL(session string) string {
	return "http://" + s.addr + Path(session)
}

// Close ends the polls in flight and stops listening. It may be called more than once.
func (s *Server) Close() error {
	err := s.http.Close()
	if served := <-s.done; served != nil && !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}
