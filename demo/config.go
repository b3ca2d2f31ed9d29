package demo

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/redis/go-redis/v9"
)

// What a demo may be asked for. Two things in the embedded Redis cost more the more
// keys it has, its clock and its events; with 5,000 sessions it was measured to fall
// behind.
const (
	MaxNodes            = 50
	MaxSessions         = 10_000
	MaxSessionsEmbedded = 2_000
)

// The timing of the demo's fleet: short, so that a takeover is soon seen.
const (
	ttl       = 6 * time.Second
	renew     = 2 * time.Second
	reconcile = 5 * time.Second
	interval  = 2 * time.Second // between polls, where sessions are few
	drain     = 5 * time.Second

	// answerDelay makes a poll last long enough for a second one to meet it.
	answerDelay = 20 * time.Millisecond
	pollTimeout = time.Second

	// mostPolls a second are asked of the fleet: all of it shares one machine.
	mostPolls = 500
)

// Config is what a demo is made from.
type Config struct {
	// Program is the path of leasehold, which is run as a node.
	Program string
	// Environ is the user's environment; see the package's doc for what nodes get.
	Environ []string
	// Nodes and Sessions are how many there are.
	Nodes, Sessions int
	// Duration ends the demo when it has passed since all nodes were ready; zero: it
	// goes on until it is stopped.
	Duration time.Duration
	// Redis is the user's; nil: an embedded one.
	Redis *Redis
	// Out gets lines for people.
	Out io.Writer
}

// Redis is a Redis that others own.
type Redis struct {
	// URL is for the nodes, Shown for people: it has no credentials.
	URL, Shown string
	// Client stays its owner's to close.
	Client redis.UniversalClient
}

// Validate names all that can not be asked for, by the flags of the command.
func (c Config) Validate() error {
	return errors.Join(
		between("--nodes", c.Nodes, MaxNodes),
		c.validSessions(),
		notNegative("--duration", c.Duration),
	)
}

func (c Config) validSessions() error {
	err := between("--sessions", c.Sessions, MaxSessions)
	if err == nil && c.Redis == nil && c.Sessions > MaxSessionsEmbedded {
		return fmt.Errorf("--sessions=%d: the embedded Redis can bear %d; for more, name a real one with --redis",
			c.Sessions, MaxSessionsEmbedded)
	}
	return err
}

func between(flag string, n, most int) error {
	if n < 1 || n > most {
		return fmt.Errorf("%s=%d: must be from 1 to %d", flag, n, most)
	}
	return nil
}

func notNegative(flag string, d time.Duration) error {
	if d < 0 {
		return fmt.Errorf("%s=%s: must not be negative", flag, d)
	}
	return nil
}

// pollInterval is the time between two polls of each of so many sessions.
func pollInterval(sessions int) time.Duration {
	seconds := (sessions + mostPolls - 1) / mostPolls
	return max(interval, time.Duration(seconds)*time.Second)
}
