package leasemanager

import (
	"crypto/tls"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"leasehold/config"
	"leasehold/eventlog"
	"leasehold/redisevents"
	"leasehold/rediskey"
	"leasehold/redisstore"
)

// Config says where the fleet is and how it counts. Zero values mean the defaults;
// all members of a fleet must have the same. The rules are the program's, and errors
// name its variables.
type Config struct {
	// RedisURL is redis://, rediss:// or unix://; several, separated by commas, are one
	// cluster. Default: redis://127.0.0.1:6379/0.
	RedisURL string
	// RedisTLS says more than rediss:// does: authorities, a certificate, a server name.
	RedisTLS *tls.Config
	// Client, if set, takes RedisURL's place: a *redis.Client or *redis.ClusterClient.
	// Its options are used for connections of the member's own, bounded by contexts and
	// without retries: a Dialer is honored, hooks are not.
	Client redis.UniversalClient
	// Keys has the prefixes of the keys: poll: and session: by default.
	Keys rediskey.Keys
	// Name is the first part of the instance ID: the hostname.
	Name string

	// LeaseTTL is how long a lease lives without a renewal (30 s), RenewInterval the
	// time between renewals (a third of it), Margin how much before Redis the holder
	// ends it (a fifteenth).
	LeaseTTL, RenewInterval, Margin time.Duration
	// HeartbeatTTL (as LeaseTTL) and HeartbeatInterval (a third) are the sign of life's.
	HeartbeatTTL, HeartbeatInterval time.Duration
	// RedisTimeout bounds one command: 2 s, less for short TTLs.
	RedisTimeout time.Duration
	// DrainTimeout bounds Stop: 25 s.
	DrainTimeout time.Duration
	// Events says how much depends on Redis' keyspace notifications: auto.
	Events redisevents.Mode

	// What follows is for members that poll by plan.

	// ReconcileInterval is the time between full comparisons with Redis: 10 s.
	ReconcileInterval time.Duration
	// MaxSessions is the most sessions taken by plan (0: no limit), Concurrency the
	// most polls in flight (256).
	MaxSessions, Concurrency int
	// ResultStream is the Redis stream that results are appended to: poll:results, with
	// the prefix of Keys in place of poll:.
	ResultStream string
	// PollInterval (10 s) and PollTimeout (5 s) are for documents that name none.
	PollInterval, PollTimeout time.Duration

	// Log gets the lines that docs/log-events.md lists, as JSON, from LogLevel (info)
	// on. Default: no log. With os.Stdout or os.Stderr, Go ends the whole program when
	// that is a pipe whose reader has gone, unless the program ignores SIGPIPE: that is
	// its decision.
	Log      io.Writer
	LogLevel eventlog.Level
}

// settings checks the values by the program's rules, and fills in the others.
func (c Config) settings() (config.Config, error) {
	if c.LeaseTTL == 0 {
		c.LeaseTTL = 30 * time.Second
	}
	if c.HeartbeatTTL == 0 {
		c.HeartbeatTTL = c.LeaseTTL
	}
	third := func(d *time.Duration, ttl time.Duration) {
		if *d == 0 {
			*d = ttl / 3
		}
	}
	third(&c.RenewInterval, c.LeaseTTL)
	third(&c.HeartbeatInterval, c.HeartbeatTTL)

	var environ []string
	set := func(name, value string) {
		environ = append(environ, "LEASEHOLD_"+name+"="+value)
	}
	for name, value := range map[string]string{
		"REDIS_URL": c.RedisURL, "INSTANCE_NAME": c.Name, "KEYSPACE_EVENTS": string(c.Events),
		"KEY_PREFIX": c.Keys.Prefix, "SESSION_PREFIX": c.Keys.SessionPrefix, "RESULT_STREAM": c.ResultStream,
	} {
		if value != "" {
			set(name, value)
		}
	}
	for name, d := range map[string]time.Duration{
		"LEASE_TTL": c.LeaseTTL, "LEASE_RENEW_INTERVAL": c.RenewInterval, "LEASE_SAFETY_MARGIN": c.Margin,
		"HEARTBEAT_TTL": c.HeartbeatTTL, "HEARTBEAT_INTERVAL": c.HeartbeatInterval,
		"REDIS_TIMEOUT": c.RedisTimeout, "DRAIN_TIMEOUT": c.DrainTimeout, "RECONCILE_INTERVAL": c.ReconcileInterval,
		"POLL_INTERVAL": c.PollInterval, "POLL_TIMEOUT": c.PollTimeout,
	} {
		if d != 0 {
			set(name, d.String())
		}
	}
	for name, n := range map[string]int{"MAX_SESSIONS": c.MaxSessions, "POLL_CONCURRENCY": c.Concurrency} {
		if n != 0 {
			set(name, strconv.Itoa(n))
		}
	}
	settings, err := config.Load(environ, nil)
	if err != nil {
		return config.Config{}, fmt.Errorf("leasemanager: %w", err)
	}
	return settings, nil
}

// open returns a client of the member's own.
func (c Config) open(settings config.Config) (redis.UniversalClient, error) {
	switch client := c.Client.(type) {
	case nil:
		return redisstore.Open(settings.RedisAddress(), redisstore.OpenOptions{Timeout: settings.RedisTimeout, TLS: c.RedisTLS})
	case *redis.Client:
		o := *client.Options()
		o.ContextTimeoutEnabled, o.MaxRetries = true, -1
		o.PipelinePoolSize = -1 // one pool: what breaks in one breaks in all
		o.Protocol, o.PushNotificationProcessor = 2, nil
		o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
		own := redis.NewClient(&o)
		redisstore.Follow(own)
		return own, nil
	case *redis.ClusterClient:
		o := *client.Options()
		o.ContextTimeoutEnabled = true
		o.PipelinePoolSize, o.Protocol, o.PushNotificationProcessor = -1, 2, nil
		o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
		return redis.NewClusterClient(&o), nil
	default:
		return nil, fmt.Errorf("leasemanager: no work through a %T", client)
	}
}

// Option changes what a member does.
type Option func(*Member)

// WithCallbacks has the member tell of its leases.
func WithCallbacks(c Callbacks) Option {
	return func(m *Member) { m.book.callbacks = c }
}

// WithoutHeartbeat keeps the member out of the live nodes: nobody plans for it. It
// is for leases by hand beside nodes that poll; with WithPoller it has no effect.
func WithoutHeartbeat() Option {
	return func(m *Member) { m.anonymous = true }
}
