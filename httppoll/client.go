package httppoll

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// Defaults of Config and of a session's timeout.
const (
	DefaultMaxBody     = 1 << 20
	DefaultConcurrency = 256
	DefaultMaxIdle     = 10_000
	DefaultIdleTimeout = 90 * time.Second
	DefaultDialTimeout = 10 * time.Second
	DefaultTimeout     = 5 * time.Second
)

// ErrClosed is the cause of a poll that was asked for after Close.
var ErrClosed = errors.New("the poll client is closed")

// Config sets a client up. Its zero value works.
type Config struct {
	// Version goes into the User-Agent. Empty: "dev".
	Version string
	// MaxBody is the most bytes of an answer after decompression. Zero or less:
	// DefaultMaxBody.
	MaxBody int64
	// Concurrency is how many polls the caller runs at once. It bounds nothing here:
	// it sizes the pool for the case that all of them go to one host. Zero or less:
	// DefaultConcurrency.
	Concurrency int
	// MaxIdle is the most connections kept open between polls, each a file
	// descriptor and about 30 KiB; the longest idle one is closed first. Zero or less:
	// DefaultMaxIdle.
	MaxIdle int
	// IdleTimeout is how long an unused connection is kept. Polls further apart than
	// this connect anew. Zero or less: DefaultIdleTimeout.
	IdleTimeout time.Duration
	// DialTimeout bounds one connection attempt and, anew, its TLS handshake; the
	// poll's own deadline is often nearer. Zero or less: DefaultDialTimeout.
	DialTimeout time.Duration
	// RootCAs are trusted instead of the system's, if not nil.
	RootCAs *x509.CertPool
	// Deny are networks that no poll connects to; none: all are allowed.
	Deny []netip.Prefix
	// Inject, if not nil, adds to the headers of each request what its poll's context
	// carries for the target. It may be called from any goroutine.
	Inject func(ctx context.Context, header http.Header)
}

func (c Config) withDefaults() Config {
	c.Version = cmp.Or(c.Version, "dev")
	c.MaxBody = positive(c.MaxBody, DefaultMaxBody)
	c.Concurrency = positive(c.Concurrency, DefaultConcurrency)
	c.MaxIdle = positive(c.MaxIdle, DefaultMaxIdle)
	c.IdleTimeout = positive(c.IdleTimeout, DefaultIdleTimeout)
	c.DialTimeout = positive(c.DialTimeout, DefaultDialTimeout)
	return c
}

func positive[T int | int64 | time.Duration](value, otherwise T) T {
	if value > 0 {
		return value
	}
	return otherwise
}

// Client polls over one shared pool of connections. All its methods may be called
// from any goroutine.
type Client struct {
	// Set once.
	cfg       Config
	userAgent string
	transport *http.Transport

	// Shared, safe.
	buffers sync.Pool // of *[]byte, bufferSize long
	closed  atomic.Bool
}

// New returns a client. It opens nothing before the first poll.
func New(cfg Config) *Client {
	cfg = cfg.withDefaults()
	c := &Client{
		cfg:       cfg,
		userAgent: "leasehold/" + cfg.Version,
		transport: newTransport(cfg),
	}
	c.buffers.New = func() any {
		b := make([]byte, bufferSize)
		return &b
	}
	return c
}

// Poll sends the session's request and judges the answer. It returns soon after ctx
// ends, and after the session's timeout at the latest.
func (c *Client) Poll(ctx context.Context, r Request) (out Outcome) {
	begun := time.Now()
	defer func() {
		if p := recover(); p != nil {
			out = Outcome{Class: ClassHTTP, Err: panicked(p)}
		}
		out.Duration = time.Since(begun)
		// A poll that raced with Close may have put its connection back after it.
		if c.closed.Load() {
			c.transport.CloseIdleConnections()
		}
	}()
	if c.closed.Load() {
		return Outcome{Class: ClassCanceled, Err: ErrClosed}
	}

	limit := positive(r.Session.Timeout, DefaultTimeout)
	bounded, cancel := context.WithTimeout(ctx, limit)
	defer cancel()

	var sends permit
	if r.Holds != nil {
		sends.holds, sends.refuse = r.Holds, cancel
		bounded = sends.traced(bounded)
	}
	a, err := c.ask(bounded, r)
	out = Outcome{OK: true, Class: ClassSuccess, Status: a.status, Bytes: a.bytes, Body: a.body}
	if err != nil {
		out.OK = false
		out.Class, out.Err = classify(ctx, bounded, limit, err)
		if sends.denied.Load() {
			out.Class, out.Err = ClassCanceled, ErrLate
		}
	}
	return out
}

// Close closes the connections that are not in use and refuses further polls. It does
// not wait: polls in flight end as their contexts say and then close their own. It may
// be called more than once.
func (c *Client) Close() {
	c.closed.Store(true)
	c.transport.CloseIdleConnections()
}

// panicked describes a panic without its value, which may hold anything, unless the
// runtime made it.
func panicked(p any) error {
	if e, ok := p.(runtime.Error); ok {
		return fmt.Errorf("the poll panicked: %w", e)
	}
	return fmt.Errorf("the poll panicked with a %T", p)
}
