package config

import (
	"fmt"
	"net/netip"
	"slices"
	"time"

	"leasehold/eventlog"
	"leasehold/rediskey"
)

// IDFormat says which session IDs are valid.
type IDFormat string

// The formats of session IDs.
const (
	AnyID  IDFormat = "any"
	UUIDID IDFormat = "uuid"
)

// EventMode says how much a node insists on keyspace notifications.
type EventMode string

// The ways of dealing with keyspace notifications.
const (
	EventsAuto    EventMode = "auto"    // set the flags if allowed, else warn and scan
	EventsRequire EventMode = "require" // no start without them
	EventsOff     EventMode = "off"     // scan only
)

// ResultSink is a way for results out of the node, beside the stream.
type ResultSink string

// The sinks of results.
const (
	SinkStdout  ResultSink = "stdout"  // JSON lines
	SinkWebhook ResultSink = "webhook" // signed requests
)

// Source says where a value comes from.
type Source string

// The sources, weakest first.
const (
	Default Source = "default"
	Env     Source = "env"
	Flag    Source = "flag"
)

// Secret is a value that fmt, JSON and logs show masked. Convert it to a string to
// use it.
type Secret string

const masked = "***"

// String returns the mask, or nothing for no secret.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return masked
}

// GoString is String, for %#v.
func (s Secret) GoString() string { return s.String() }

// MarshalText is String, for JSON.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Config is what a node is told. The fields are the variables of the same name;
// see Vars for what they mean. It is a value; nothing changes it after Load.
type Config struct {
	Redis        []RedisURL // one: a server; more: the addresses of a cluster
	RedisTimeout time.Duration

	RedisCAFile     string
	RedisCertFile   string
	RedisKeyFile    string
	RedisServerName string

	InstanceName    string
	Keys            rediskey.Keys
	SessionIDFormat IDFormat

	LeaseTTL           time.Duration
	LeaseRenewInterval time.Duration
	LeaseSafetyMargin  time.Duration
	HeartbeatTTL       time.Duration
	HeartbeatInterval  time.Duration
	ReconcileInterval  time.Duration
	KeyspaceEvents     EventMode

	PollInterval    time.Duration
	PollTimeout     time.Duration
	PollConcurrency int
	HostConcurrency int   // 0: no limit
	PollMaxBody     int64 // bytes
	MaxSessions     int   // 0: no limit
	DenyTargets     []netip.Prefix

	DrainTimeout time.Duration

	ResultStream string // empty: no stream
	ResultMaxLen int64
	ResultSinks  []ResultSink

	ResultWebhookURL        Secret // shown without its path
	ResultWebhookSecret     Secret // of either variable; empty: none
	ResultWebhookSecretFile string

	HTTPAddr     string // empty: no server
	HTTPCertFile string
	HTTPKeyFile  string
	APIToken     Secret // of either variable; empty: none
	APITokenFile string
	APIUsersFile string
	APIOpen      bool
	PProf        bool
	APIResource  string

	LogLevel  eventlog.Level
	LogFormat eventlog.Format

	sources map[string]Source
}

// Source returns where the value of a variable comes from.
func (c Config) Source(name string) Source {
	if s, ok := c.sources[name]; ok {
		return s
	}
	return Default
}

// Warnings name settings that work but have a price.
func (c Config) Warnings() []string {
	var all []string
	if c.DrainTimeout <= c.PollTimeout {
		all = append(all, fmt.Sprintf("LEASEHOLD_DRAIN_TIMEOUT (%s) is not above LEASEHOLD_POLL_TIMEOUT (%s): "+
			"a stop can end before a poll does, and then leaves the lease to run out", c.DrainTimeout, c.PollTimeout))
	}
	if c.ResultWebhookURL != "" && !slices.Contains(c.ResultSinks, SinkWebhook) {
		all = append(all, "LEASEHOLD_RESULT_WEBHOOK_URL is set, but LEASEHOLD_RESULT_SINKS does not name webhook: nothing is sent")
	}
	return append(all, c.httpWarnings()...)
}
