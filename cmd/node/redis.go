package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/redis/go-redis/v9/maintnotifications"

	"leasehold/config"
)

// newRedis returns a client for the server or the cluster of the settings. It
// connects when it is first used.
func newRedis(cfg config.Config) (redis.UniversalClient, error) {
	// It would write text between our lines; all it says comes back as errors too.
	logging.Disable()
	all := make([]*redis.Options, len(cfg.Redis))
	for i, u := range cfg.Redis {
		o, err := redis.ParseURL(string(u))
		if err != nil { // can't be: the same parser has checked the settings
			return nil, fmt.Errorf("LEASEHOLD_REDIS_URL (%s) can not be used", u)
		}
		all[i] = o
	}
	if len(all) == 1 {
		bound(all[0], cfg.RedisTimeout)
		return redis.NewClient(all[0]), nil
	}
	return redis.NewClusterClient(clusterOptions(all, cfg.RedisTimeout)), nil
}

// bound makes every command end by its context and by the timeout, and leaves
// repeating to us: a renewal that go-redis repeats may outlive its term.
func bound(o *redis.Options, timeout time.Duration) {
	o.ContextTimeoutEnabled = true
	o.MaxRetries = -1
	o.DialTimeout, o.ReadTimeout, o.WriteTimeout = timeout, timeout, timeout
	o.DialerRetries = 1
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
}

func clusterOptions(all []*redis.Options, timeout time.Duration) *redis.ClusterOptions {
	first := all[0]
	bound(first, timeout)
	o := &redis.ClusterOptions{
		Username: first.Username, Password: first.Password, TLSConfig: first.TLSConfig,
		ContextTimeoutEnabled: first.ContextTimeoutEnabled,
		MaxRetries:            first.MaxRetries,
		DialTimeout:           first.DialTimeout,
		ReadTimeout:           first.ReadTimeout,
		WriteTimeout:          first.WriteTimeout,
		DialerRetries:         first.DialerRetries,
		PoolSize:              first.PoolSize,
		// A dead master is noticed by its errors; this is for those that move.
		ClusterStateReloadInterval: time.Second,
		MaintNotificationsConfig:   first.MaintNotificationsConfig,
	}
	if o.TLSConfig != nil {
		// Each node proves its own name, not that of the first.
		o.TLSConfig = o.TLSConfig.Clone()
		o.TLSConfig.ServerName = ""
	}
	for _, a := range all {
		o.Addrs = append(o.Addrs, a.Addr)
	}
	return o
}

// contactTimeout bounds the wait for the first answer of Redis: a person is told
// within two seconds.
const contactTimeout = 1900 * time.Millisecond

var errStopped = errors.New("stopped before Redis answered")

// firstContact makes sure that there is a Redis, once: later, a node waits for it
// as long as it takes. Any answer that does not refuse us will do, also one that
// says to come back later.
func firstContact(ctx context.Context, stop <-chan string, client redis.UniversalClient) error {
	ctx, cancel := context.WithTimeout(ctx, contactTimeout)
	defer cancel()
	answer := make(chan error, 1)
	go func() { answer <- client.Ping(ctx).Err() }()
	select {
	case err := <-answer:
		if answersAtLeast(err) {
			return nil
		}
		return err
	case <-ctx.Done():
		return fmt.Errorf("no answer within %s", contactTimeout)
	case <-stop:
		return errStopped
	}
}

// answersAtLeast reports whether a Redis that takes us is there, if not yet ready.
func answersAtLeast(err error) bool {
	return err == nil || redis.IsLoadingError(err) || redis.IsMasterDownError(err) ||
		redis.IsClusterDownError(err) || redis.IsTryAgainError(err) || redis.IsReadOnlyError(err) ||
		redis.IsPermissionError(err) || redis.HasErrorPrefix(err, "BUSY")
}

// refusesUs reports whether the server answers but does not know our credentials.
func refusesUs(err error) bool {
	return redis.IsAuthError(err) || strings.Contains(err.Error(), "AUTH <password>") ||
		strings.Contains(err.Error(), "without any password configured")
}

// explainNoContact says what was tried and what to do. It holds no secret: an
// error of the client names addresses, never credentials.
func explainNoContact(cfg config.Config, err error) string {
	tried := make([]string, len(cfg.Redis))
	for i, u := range cfg.Redis {
		tried[i] = u.String()
	}
	where := strings.Join(tried, ",")
	if refusesUs(err) {
		return fmt.Sprintf(`leasehold: Redis at %s refuses the user name or password: %v
Set LEASEHOLD_REDIS_URL to redis://USER:PASSWORD@HOST:PORT/DB, special characters percent-encoded.
`, where, err)
	}
	return fmt.Sprintf(`leasehold: no usable Redis at %s (%s): %v
Set LEASEHOLD_REDIS_URL to a Redis that answers, such as redis://HOST:6379/0.
To see a fleet at work without any Redis, run 'leasehold demo'.
`, where, origin(cfg), err)
}

func origin(cfg config.Config) string {
	if cfg.Source("LEASEHOLD_REDIS_URL") == config.Default {
		return "the default; LEASEHOLD_REDIS_URL is not set"
	}
	return "from the settings"
}
