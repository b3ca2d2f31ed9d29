package redisstore

import (
	"time"

	"github.com/redis/go-redis/v9"

	"leasehold/lease"
	"leasehold/rediskey"
	"leasehold/session"
)

// Defaults of [Options].
const (
	DefaultTimeout   = 2 * time.Second
	DefaultBatchSize = 500
	DefaultStateTTL  = 7 * 24 * time.Hour
	DefaultMaxLen    = 100_000
)

// mostBatch is less than what Lua unpacks into the arguments of one command.
const mostBatch = 5000

// flightLimit bounds the script calls that one method call keeps in flight to a server:
// more would not make it faster, and would keep other clients waiting.
const flightLimit = 4

// Options change how a Store works. The zero value works.
type Options struct {
	// Timeout bounds the wait for each answer of the server; zero: DefaultTimeout.
	Timeout time.Duration
	// BatchSize is the most leases a script call, 5,000 at most; zero: DefaultBatchSize.
	BatchSize int
	// StateTTL, plus ten intervals, is how long a session's state outlives its last
	// use; zero: DefaultStateTTL.
	StateTTL time.Duration
	// Stream is the key that results are appended to; empty: none.
	Stream string
	// MaxLen caps the stream, roughly; zero: DefaultMaxLen.
	MaxLen int64
	// OnForeign, when set, is told of keys under the fleet's prefixes that are not
	// the fleet's, at each look: a wrong type, no name, no expiry. It may be called
	// from any goroutine and must not block.
	OnForeign func(key, reason string)
}

// Store is a [lease.Store], [lease.Reader], [lease.Inspector], [lease.Ledger], [lease.Members],
// [session.Source] and [session.Pager]. Its methods may be called from any goroutine.
type Store struct {
	client  redis.UniversalClient
	cluster bool
	keys    rediskey.Keys
	opts    Options
	scripts scripts
	polls   *batcher // in a cluster there are lanes
	lanes   lanes
	appends chan struct{} // a token for each that is under way
}

var (
	_ lease.Store     = (*Store)(nil)
	_ lease.Reader    = (*Store)(nil)
	_ lease.Inspector = (*Store)(nil)
	_ lease.Ledger    = (*Store)(nil)
	_ lease.Asker     = (*Store)(nil)
	_ lease.Members   = (*Store)(nil)
	_ lease.Placer    = (*Store)(nil)
	_ session.Source  = (*Store)(nil)
	_ session.Pager   = (*Store)(nil)
)

// New returns a store over the client, which stays the caller's to close. The
// client should have been made by [Open], or with ContextTimeoutEnabled.
func New(client redis.UniversalClient, keys rediskey.Keys, opts Options) *Store {
	if opts.Timeout <= 0 {
		opts.Timeout = DefaultTimeout
	}
	if opts.BatchSize <= 0 {
		opts.BatchSize = DefaultBatchSize
	}
	opts.BatchSize = min(opts.BatchSize, mostBatch)
	if opts.StateTTL <= 0 {
		opts.StateTTL = DefaultStateTTL
	}
	if opts.MaxLen <= 0 {
		opts.MaxLen = DefaultMaxLen
	}
	if opts.OnForeign == nil {
		opts.OnForeign = func(string, string) {}
	}
	_, cluster := client.(*redis.ClusterClient)
	s := &Store{client: client, cluster: cluster, keys: keys, opts: opts, scripts: newScripts()}
	s.lanes.of = map[string]*batcher{}
	s.appends = make(chan struct{}, mostAppends)
	s.polls = s.newBatcher()

	return s
}

// newBatcher returns a batcher for one server.
func (s *Store) newBatcher() *batcher {
	return newBatcher(s.exec, s.opts.Timeout, s.opts.BatchSize)
}
