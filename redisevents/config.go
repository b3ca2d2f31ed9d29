package redisevents

import (
	"time"

	"github.com/redis/go-redis/v9"

	"leasehold/rediskey"
)

// Mode says how much depends on the events.
type Mode string

// The modes of a listener.
const (
	// Auto sets the flags where it may, and lives with hints where it may not.
	Auto Mode = "auto"
	// Require makes Run fail when flags or channels are refused at the first start.
	Require Mode = "require"
	// Off subscribes to nothing; a server that is another one is still noticed.
	Off Mode = "off"
)

// Observer is told what happens to the subscription. Its methods are called from
// the listener's own goroutines, must not block, and must be safe for concurrent
// use.
type Observer interface {
	// Subscribed says that all channels are confirmed. flags are those of the
	// server, empty when it does not tell.
	Subscribed(flags string, channels []string)
	// Lost says that events may be missed from now on, until the next Gap.
	Lost(reason string, err error)
	// Disabled says that events cannot be relied on, and why.
	Disabled(reason string)
	// Warned says what else deserves attention.
	Warned(reason string)
}

// Config sets up a Listener. Zero durations and counts mean their defaults.
type Config struct {
	// Client is a *redis.Client or a *redis.ClusterClient. Its options are used for
	// connections of the listener's own: a Dialer in them is honored, hooks are not.
	Client redis.UniversalClient
	Keys   rediskey.Keys
	// DB is the logical database whose keys are ours.
	DB   int
	Mode Mode

	// Name tells the listeners of a fleet apart: each takes turns of its own. Empty: drawn.
	Name string

	// Takings has LeaseTaken announced too. Each SET in the database is a message then,
	// so it is nothing for all nodes all the time.
	Takings bool

	// Notify, if set, is called when the queue turns from empty to non-empty. It
	// must not block.
	Notify func()
	// Moved, if set, is called before the Gap that tells of another server: whoever has
	// connections of his own to the one before must make new ones, or his commands go on
	// there. It must not block for long.
	Moved func()
	// Observer may be nil.
	Observer Observer

	// Lag, if set, hears how long each proof of life took from its publishing until it
	// was heard. It must not block.
	Lag func(time.Duration)

	// MaxQueue is how many distinct events are held before the queue collapses
	// into one Gap: 65,536.
	MaxQueue int

	// Canary is the pace of the proof of life (500 ms), Dead how long one's own may stay
	// unheard (1.5 s).
	Canary, Dead time.Duration
	// Identify is the pace of INFO on the listener's own connection: 1 s. One of all
	// listeners asks, and tells the others.
	Identify time.Duration
	// FlagCheck is the pace of looking, through a fresh connection, at the flags
	// and at where the address leads: 10 s.
	FlagCheck time.Duration
	// Topology is the pace of looking for new masters of a cluster: 1 s.
	Topology time.Duration
	// Call bounds each command, dial included: 1 s.
	Call time.Duration
	// RetryMin and RetryMax bound the pause between attempts: 20 and 500 ms.
	RetryMin, RetryMax time.Duration
	// Refused is the pause after a refusal, of channels or of the proof of life: 30 s.
	Refused time.Duration
}

// Defaults of Config.
const (
	defaultMaxQueue  = 65_536
	defaultCanary    = 500 * time.Millisecond
	defaultDead      = 1500 * time.Millisecond
	defaultIdentify  = time.Second
	defaultFlagCheck = 10 * time.Second
	defaultTopology  = time.Second
	defaultCall      = time.Second
	shortestPause    = 20 * time.Millisecond
	longestPause     = 500 * time.Millisecond
	defaultRefused   = 30 * time.Second
)

func (c Config) withDefaults() Config {
	if c.Mode == "" {
		c.Mode = Auto
	}
	if c.Observer == nil {
		c.Observer = silent{}
	}
	if c.MaxQueue <= 0 {
		c.MaxQueue = defaultMaxQueue
	}
	for _, d := range []struct {
		at    *time.Duration
		value time.Duration
	}{
		{&c.Canary, defaultCanary},
		{&c.Dead, defaultDead},
		{&c.Identify, defaultIdentify},
		{&c.FlagCheck, defaultFlagCheck},
		{&c.Topology, defaultTopology},
		{&c.Call, defaultCall},
		{&c.RetryMin, shortestPause},
		{&c.RetryMax, longestPause},
		{&c.Refused, defaultRefused},
	} {
		if *d.at <= 0 {
			*d.at = d.value
		}
	}
	return c
}

// silent is the observer of those who gave none.
type silent struct{}

func (silent) Subscribed(string, []string) {}
func (silent) Lost(string, error)          {}
func (silent) Disabled(string)             {}
func (silent) Warned(string)               {}
