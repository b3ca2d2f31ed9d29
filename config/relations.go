package config

import (
	"fmt"
	"os"
	"strings"
	"time"

	"leasehold/rediskey"
)

// derive fills what was not set from what was.
func (l *loader) derive() {
	c := &l.cfg
	if c.sources["LEASEHOLD_INSTANCE_NAME"] == Default {
		c.InstanceName = hostname()
	}
	if c.sources["LEASEHOLD_RESULT_STREAM"] == Default {
		c.ResultStream = c.Keys.Results()
	}
	if c.sources["LEASEHOLD_LEASE_SAFETY_MARGIN"] == Default {
		c.LeaseSafetyMargin = c.LeaseTTL / 15
	}
	if c.sources["LEASEHOLD_REDIS_TIMEOUT"] == Default {
		// What is left between a renewal and the end of trust is for two attempts.
		slack := c.LeaseTTL - c.LeaseRenewInterval - c.LeaseSafetyMargin
		c.RedisTimeout = min(c.RedisTimeout, c.LeaseTTL/4, c.HeartbeatTTL/4, max(slack/2, time.Millisecond))
	}
}

// hostname never fails a start: a name that can't be used is replaced.
func hostname() string {
	name, err := os.Hostname()
	if err != nil || name == "" || checkName(name) != nil {
		return "leasehold"
	}
	return name
}

// relate checks the rules between settings, each only where its parts are sound.
func (l *loader) relate() {
	c := &l.cfg
	l.half("LEASEHOLD_LEASE_RENEW_INTERVAL", c.LeaseRenewInterval, "LEASEHOLD_LEASE_TTL", c.LeaseTTL)
	l.half("LEASEHOLD_HEARTBEAT_INTERVAL", c.HeartbeatInterval, "LEASEHOLD_HEARTBEAT_TTL", c.HeartbeatTTL)
	l.fits("LEASEHOLD_LEASE_SAFETY_MARGIN", "LEASEHOLD_LEASE_TTL", c.LeaseTTL,
		[]string{"LEASEHOLD_LEASE_RENEW_INTERVAL", "LEASEHOLD_LEASE_SAFETY_MARGIN"}, c.LeaseRenewInterval+c.LeaseSafetyMargin)
	l.fits("LEASEHOLD_REDIS_TIMEOUT", "LEASEHOLD_LEASE_TTL", c.LeaseTTL,
		[]string{"LEASEHOLD_LEASE_RENEW_INTERVAL", "LEASEHOLD_LEASE_SAFETY_MARGIN", "LEASEHOLD_REDIS_TIMEOUT"},
		c.LeaseRenewInterval+c.LeaseSafetyMargin+c.RedisTimeout)
	l.fits("LEASEHOLD_REDIS_TIMEOUT", "LEASEHOLD_HEARTBEAT_TTL", c.HeartbeatTTL,
		[]string{"LEASEHOLD_HEARTBEAT_INTERVAL", "LEASEHOLD_REDIS_TIMEOUT"}, c.HeartbeatInterval+c.RedisTimeout)
	l.relateKeys()
	l.relateSinks()
	l.relateRedisTLS()
	l.relateHTTP()
}

// half: an interval must fit twice into its TTL, so that one loss is no loss.
func (l *loader) half(name string, interval time.Duration, ttlName string, ttl time.Duration) {
	if !l.sound(name, ttlName) || interval <= ttl/2 {
		return
	}
	l.fault(name, fmt.Sprintf("must be at most half of %s (%s), which is %s", ttlName, short(ttl), short(ttl/2)))
}

// fits: the parts must add up to less than the TTL; blame gets the fault.
func (l *loader) fits(blame, ttlName string, ttl time.Duration, parts []string, sum time.Duration) {
	if !l.sound(append(parts, ttlName)...) || sum < ttl {
		return
	}
	l.fault(blame, fmt.Sprintf("%s (%s) must be below %s (%s)", strings.Join(parts, " + "), short(sum), ttlName, short(ttl)))
}

// relateKeys keeps the fleet's keys, the documents and the stream apart.
func (l *loader) relateKeys() {
	c := &l.cfg
	l.prefix("LEASEHOLD_KEY_PREFIX", c.Keys.ValidatePrefix)
	l.prefix("LEASEHOLD_SESSION_PREFIX", c.Keys.ValidateSessionPrefix)
	if !l.sound("LEASEHOLD_KEY_PREFIX", "LEASEHOLD_SESSION_PREFIX") {
		return
	}
	if err := c.Keys.Validate(); err != nil { // each alone is sound
		blame := "LEASEHOLD_SESSION_PREFIX"
		if c.sources[blame] == Default {
			blame = "LEASEHOLD_KEY_PREFIX"
		}
		l.fault(blame, err.Error())
		return
	}
	if !l.sound("LEASEHOLD_RESULT_STREAM") || c.ResultStream == "" {
		return
	}
	if kind, _ := c.Keys.Parse(c.ResultStream); kind != rediskey.Foreign {
		l.fault("LEASEHOLD_RESULT_STREAM", fmt.Sprintf("must not be the name of a %s key", kind))
	}
}

func (l *loader) prefix(name string, check func() error) {
	if err := check(); err != nil && l.sound(name) {
		l.fault(name, err.Error())
	}
}

func (l *loader) sound(names ...string) bool {
	for _, n := range names {
		if l.bad[n] {
			return false
		}
	}
	return true
}
