package config

import (
	"math"
	"strings"
	"time"

	"leasehold/eventlog"
)

// Var is one setting.
type Var struct {
	// Name is the environment variable.
	Name string
	// Fallback is a second variable that is read where Name is not set.
	Fallback string
	// Default is the value where nothing is set; empty for none.
	Default string
	// DefaultText is how documentation shows the default, where that differs.
	DefaultText string
	// Meaning is one line for people.
	Meaning string
	// Secret keeps the value out of everything that is shown. Such a setting has no
	// flag, since flags show in the list of processes.
	Secret bool
	// Beside is the setting that this one is documented with, in one row; empty: none.
	Beside string
	// EmptyCounts says that a variable that is set but empty is a value.
	EmptyCounts bool

	// set parses a value; its error is the rule that the value breaks.
	set func(c *Config, value string) error
	// get returns the value as set would read it.
	get func(c *Config) string
	// show is get without secrets, where that differs.
	show func(c *Config) string
	// mask hides the secrets of a value, whether or not it could be parsed.
	mask func(value string) string
}

// Flag returns the name of the setting's flag without dashes; empty for none.
func (v Var) Flag() string {
	if v.Secret {
		return ""
	}
	return strings.TrimPrefix(FlagName(v.Name), "--")
}

// ShownDefault returns the default as documentation shows it.
func (v Var) ShownDefault() string {
	if v.DefaultText != "" {
		return v.DefaultText
	}
	return v.Default
}

const prefix = "LEASEHOLD_"

// FlagName returns the flag for a variable: LEASEHOLD_LEASE_TTL is --lease-ttl.
func FlagName(name string) string {
	return "--" + strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(name, prefix), "_", "-"))
}

// Vars returns all settings, in the order in which they are documented.
func Vars() []Var {
	var all []Var
	for _, group := range [][]Var{redisVars(), identityVars(), leaseVars(), pollVars(), resultVars(), outputVars()} {
		all = append(all, group...)
	}
	return all
}

func redisVars() []Var {
	return []Var{
		{
			Name: "LEASEHOLD_REDIS_URL", Fallback: "REDIS_URL", Default: "redis://127.0.0.1:6379/0",
			Meaning: "`redis://`, `rediss://` or `unix://`; several comma-separated addresses mean a cluster",
			set: func(c *Config, s string) (err error) {
				c.Redis, err = parseRedis(s)
				return err
			},
			get:  func(c *Config) string { return joinURLs(c.Redis, func(u RedisURL) string { return string(u) }) },
			show: func(c *Config) string { return joinURLs(c.Redis, RedisURL.String) },
			mask: maskURL,
		},
		duration(Var{
			Name: "LEASEHOLD_REDIS_TIMEOUT", Default: "2s",
			Meaning: "bound on one command, retries included; where not set, shorter for TTLs under 8 s",
		}, 10*time.Millisecond, func(c *Config) *time.Duration { return &c.RedisTimeout }),
		text(Var{
			Name:    "LEASEHOLD_REDIS_CA_FILE",
			Meaning: "certificates of the authorities that vouch for a `rediss://` server, PEM; none: the system's",
		}, func(c *Config) *string { return &c.RedisCAFile }, anything),
		text(Var{
			Name:    "LEASEHOLD_REDIS_CERT_FILE",
			Meaning: "certificate shown to a `rediss://` server, PEM; read again when it changes",
		}, func(c *Config) *string { return &c.RedisCertFile }, anything),
		text(Var{
			Name: "LEASEHOLD_REDIS_KEY_FILE", Beside: "LEASEHOLD_REDIS_CERT_FILE",
			Meaning: "its key, PEM",
		}, func(c *Config) *string { return &c.RedisKeyFile }, anything),
		text(Var{
			Name: "LEASEHOLD_REDIS_SERVER_NAME", DefaultText: "the host of the address",
			Meaning: "name that the certificate of a `rediss://` server must have",
		}, func(c *Config) *string { return &c.RedisServerName }, checkName),
	}
}

func joinURLs(all []RedisURL, show func(RedisURL) string) string {
	parts := make([]string, len(all))
	for i, u := range all {
		parts[i] = show(u)
	}
	return strings.Join(parts, ",")
}

func identityVars() []Var {
	return []Var{
		text(Var{
			Name: "LEASEHOLD_INSTANCE_NAME", DefaultText: "the hostname",
			Meaning: "first part of the instance ID",
		}, func(c *Config) *string { return &c.InstanceName }, checkName),
		text(Var{
			Name: "LEASEHOLD_KEY_PREFIX", Default: "poll:",
			Meaning: "prefix of the keys the fleet owns",
		}, func(c *Config) *string { return &c.Keys.Prefix }, anything),
		choice(Var{
			Name: "LEASEHOLD_SESSION_ID_FORMAT", Default: "any",
			Meaning: "`any`, or `uuid`: documents whose ID is no UUID are invalid",
		}, func(c *Config) *IDFormat { return &c.SessionIDFormat }, AnyID, UUIDID),
		text(Var{
			Name: "LEASEHOLD_SESSION_PREFIX", Default: "session:",
			Meaning: "prefix of the session documents",
		}, func(c *Config) *string { return &c.Keys.SessionPrefix }, anything),
	}
}

func leaseVars() []Var {
	const leastTTL, leastInterval = time.Second, 50 * time.Millisecond
	return []Var{
		duration(Var{
			Name: "LEASEHOLD_LEASE_TTL", Default: "30s",
			Meaning: "how long a lease lives without a renewal",
		}, leastTTL, func(c *Config) *time.Duration { return &c.LeaseTTL }),
		duration(Var{
			Name: "LEASEHOLD_LEASE_RENEW_INTERVAL", Default: "10s",
			Meaning: "time between renewals; at most half of the lease TTL",
		}, leastInterval, func(c *Config) *time.Duration { return &c.LeaseRenewInterval }),
		duration(Var{
			Name: "LEASEHOLD_HEARTBEAT_TTL", Default: "30s",
			Meaning: "how long a node counts as alive without a heartbeat",
		}, leastTTL, func(c *Config) *time.Duration { return &c.HeartbeatTTL }),
		duration(Var{
			Name: "LEASEHOLD_HEARTBEAT_INTERVAL", Default: "10s",
			Meaning: "time between heartbeats; at most half of the heartbeat TTL",
		}, leastInterval, func(c *Config) *time.Duration { return &c.HeartbeatInterval }),
		duration(Var{
			Name: "LEASEHOLD_LEASE_SAFETY_MARGIN", DefaultText: "TTL/15 (2s at 30s)",
			Meaning: "the node's own clock ends a lease this much before Redis can",
		}, time.Millisecond, func(c *Config) *time.Duration { return &c.LeaseSafetyMargin }),
		duration(Var{
			Name: "LEASEHOLD_RECONCILE_INTERVAL", Default: "10s",
			Meaning: "full comparison with Redis, the safety net under the events",
		}, 100*time.Millisecond, func(c *Config) *time.Duration { return &c.ReconcileInterval }),
		choice(Var{
			Name: "LEASEHOLD_KEYSPACE_EVENTS", Default: "auto",
			Meaning: "`auto`: set the flags if allowed, else warn and live on the scan; `require`: exit 1 without them; `off`",
		}, func(c *Config) *EventMode { return &c.KeyspaceEvents }, EventsAuto, EventsRequire, EventsOff),
	}
}

func pollVars() []Var {
	return []Var{
		duration(Var{
			Name: "LEASEHOLD_POLL_INTERVAL", Default: "10s",
			Meaning: "time between polls, for documents that name none",
		}, 100*time.Millisecond, func(c *Config) *time.Duration { return &c.PollInterval }),
		duration(Var{
			Name: "LEASEHOLD_POLL_TIMEOUT", Default: "5s",
			Meaning: "bound on one poll, for documents that name none",
		}, time.Millisecond, func(c *Config) *time.Duration { return &c.PollTimeout }),
		number(Var{
			Name: "LEASEHOLD_POLL_CONCURRENCY", Default: "256",
			Meaning: "polls in flight on this node",
		}, 1, 100_000, func(c *Config) *int { return &c.PollConcurrency }),
		number(Var{
			Name: "LEASEHOLD_HOST_CONCURRENCY", Default: "0", DefaultText: "0 (no limit)",
			Meaning: "polls of one host and port in flight on this node; others of that host wait, and take no place from the rest",
		}, 0, 100_000, func(c *Config) *int { return &c.HostConcurrency }),
		size(Var{
			Name: "LEASEHOLD_POLL_MAX_BODY", Default: "1MiB",
			Meaning: "bytes read of an answer after decompression",
		}, func(c *Config) *int64 { return &c.PollMaxBody }),
		targetsVar(),
		number(Var{
			Name: "LEASEHOLD_MAX_SESSIONS", Default: "0", DefaultText: "0 (no limit)",
			Meaning: "most sessions this node takes",
		}, 0, math.MaxInt32, func(c *Config) *int { return &c.MaxSessions }),
		duration(Var{
			Name: "LEASEHOLD_DRAIN_TIMEOUT", Default: "25s",
			Meaning: "bound on a graceful stop",
		}, time.Millisecond, func(c *Config) *time.Duration { return &c.DrainTimeout }),
	}
}

func outputVars() []Var {
	return []Var{
		text(Var{
			Name: "LEASEHOLD_HTTP_ADDR", Default: "127.0.0.1:8080", EmptyCounts: true,
			Meaning: "set but empty: no HTTP server; port 0: any free port. Not set and 8080 taken: any free port",
		}, func(c *Config) *string { return &c.HTTPAddr }, checkAddr),
		text(Var{
			Name:    "LEASEHOLD_HTTP_CERT_FILE",
			Meaning: "certificate of the HTTP server, PEM, which then speaks TLS only; read again when it changes",
		}, func(c *Config) *string { return &c.HTTPCertFile }, anything),
		text(Var{
			Name: "LEASEHOLD_HTTP_KEY_FILE", Beside: "LEASEHOLD_HTTP_CERT_FILE",
			Meaning: "its key, PEM",
		}, func(c *Config) *string { return &c.HTTPKeyFile }, anything),
		tokenVar(),
		text(Var{
			Name:    "LEASEHOLD_API_TOKEN_FILE",
			Meaning: "file that holds the bearer token",
		}, func(c *Config) *string { return &c.APITokenFile }, anything),
		text(Var{
			Name:    "LEASEHOLD_API_USERS_FILE",
			Meaning: "users who may come with a password (basic auth) instead: lines as `htpasswd -B` writes them",
		}, func(c *Config) *string { return &c.APIUsersFile }, anything),
		boolean(Var{
			Name: "LEASEHOLD_API_OPEN", Default: "false",
			Meaning: "`true`: without token and users, everybody who can connect may use the API, from anywhere",
		}, func(c *Config) *bool { return &c.APIOpen }),
		boolean(Var{
			Name: "LEASEHOLD_PPROF", Default: "false",
			Meaning: "`true`: `/debug/pprof/` for those who may use the API",
		}, func(c *Config) *bool { return &c.PProf }),
		text(Var{
			Name:    "LEASEHOLD_API_RESOURCE",
			Meaning: "one more resource name for the lease API, such as `scenes`",
		}, func(c *Config) *string { return &c.APIResource }, checkResource),
		choice(Var{
			Name: "LEASEHOLD_LOG_LEVEL", Default: "info",
			Meaning: "`debug`, `info`, `warn` or `error`",
		}, func(c *Config) *eventlog.Level { return &c.LogLevel }, eventlog.Debug, eventlog.Info, eventlog.Warn, eventlog.Error),
		choice(Var{
			Name: "LEASEHOLD_LOG_FORMAT", Default: "json",
			Meaning: "`json`, or `console` for people",
		}, func(c *Config) *eventlog.Format { return &c.LogFormat }, eventlog.JSON, eventlog.Console),
	}
}

func tokenVar() Var {
	return secret(Var{
		Name:    "LEASEHOLD_API_TOKEN",
		Meaning: "bearer token of the API; without one the API is refused unless the server listens on loopback",
	}, func(c *Config) *Secret { return &c.APIToken }, checkToken)
}
