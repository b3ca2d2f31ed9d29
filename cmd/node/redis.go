package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"

	"leasehold/config"
	"leasehold/redisstore"
)

// newRedis makes the client of the settings. It does not connect. Without an instance
// its connections have no name. What the files of its certificate hold of use no more is
// told to warn; nil: to nobody.
func newRedis(cfg config.Config, instance string, warn func(reason string)) (redis.UniversalClient, error) {
	// It would write text between our lines; all it says comes back as errors too.
	logging.Disable()
	more, err := cfg.RedisTLS(warn)
	if err != nil { // the files were sound when the settings were read
		return nil, fmt.Errorf("LEASEHOLD_REDIS_CA_FILE or LEASEHOLD_REDIS_CERT_FILE can not be used: %w", err)
	}
	client, err := redisstore.Open(cfg.RedisAddress(), redisstore.OpenOptions{
		Timeout: cfg.RedisTimeout, ClientName: clientName(instance), TLS: more,
	})
	if err != nil { // can't be: the same parser has checked the settings
		return nil, fmt.Errorf("LEASEHOLD_REDIS_URL can not be used: %w", err)
	}
	return client, nil
}

// clientName is how CLIENT LIST shows the node; Redis allows no spaces and no
// control characters in it.
func clientName(instance string) string {
	if instance == "" {
		return ""
	}
	return "leasehold:" + strings.Map(func(r rune) rune {
		if r <= ' ' || r > '~' {
			return '_'
		}
		return r
	}, instance)
}

// contactTimeout bounds the wait for the first answer of Redis: a person is told
// within two seconds.
const contactTimeout = 1900 * time.Millisecond

// stoppedError says that the node was asked to stop before Redis answered.
type stoppedError struct{ reason string }

func (stoppedError) Error() string { return "stopped before Redis answered" }

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
	case reason := <-stop:
		return stoppedError{reason}
	}
}

// answersAtLeast reports whether a Redis that takes us is there, if not yet ready.
func answersAtLeast(err error) bool {
	return err == nil || redis.IsLoadingError(err) || redis.IsMasterDownError(err) ||
		redis.IsClusterDownError(err) || redis.IsTryAgainError(err) || redis.IsReadOnlyError(err) ||
		redis.IsPermissionError(err) || redis.HasErrorPrefix(err, "BUSY") || redis.HasErrorPrefix(err, "MISCONF")
}

// refusesUs reports whether the server answers but does not know our credentials.
func refusesUs(err error) bool {
	return redis.IsAuthError(err) || strings.Contains(err.Error(), "AUTH <password>") ||
		strings.Contains(err.Error(), "without any password configured")
}

// explainNoContact says what was tried, and in further lines what to do. It holds no secret: an
// error of the client names addresses, never credentials.
func explainNoContact(cfg config.Config, err error) string {
	tried := make([]string, len(cfg.Redis))
	for i, u := range cfg.Redis {
		tried[i] = u.String()
	}
	where := strings.Join(tried, ",")
	if refusesUs(err) {
		return fmt.Sprintf("Redis at %s refuses the user name or password: %s.\n%s", where, sentence(err), advice(cfg, err))
	}
	return fmt.Sprintf("no usable Redis at %s (%s): %s.\n%s\nTo see a fleet at work without any Redis, run 'leasehold demo'.",
		where, origin(cfg), sentence(err), advice(cfg, err))
}

// sentence is an error without the period that it may end with.
func sentence(err error) string { return strings.TrimRight(err.Error(), ". ") }

// advice says what would have Redis answer.
func advice(cfg config.Config, err error) string {
	if _, ok := errors.AsType[x509.HostnameError](err); ok {
		return "Set LEASEHOLD_REDIS_SERVER_NAME to a name that the server's certificate has."
	}
	if invalid, ok := errors.AsType[x509.CertificateInvalidError](err); ok && invalid.Reason == x509.Expired {
		return "Renew the server's certificate, or set this machine's clock."
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return "Set LEASEHOLD_REDIS_CA_FILE to the certificates of the authority that signed the server's."
	}
	encrypted := strings.HasPrefix(string(cfg.Redis[0]), "rediss://")
	hungUp := errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET)
	if strings.Contains(err.Error(), "remote error: tls:") || encrypted && hungUp {
		return "Set LEASEHOLD_REDIS_CERT_FILE and LEASEHOLD_REDIS_KEY_FILE to a certificate that the server accepts, and its key."
	}
	timeout, ok := errors.AsType[net.Error](err)
	switch {
	case encrypted && ok && timeout.Timeout(): // it takes the greeting of TLS for a command, and waits for more
		return "Set LEASEHOLD_REDIS_URL to a Redis that answers; one that does not speak TLS is redis://…"
	case !encrypted && hungUp:
		return "Set LEASEHOLD_REDIS_URL to a Redis that answers; one that wants TLS is rediss://…"
	}
	if strings.HasPrefix(err.Error(), "ERR DB index") {
		return "Set the number at the end of LEASEHOLD_REDIS_URL to a database that the server has (its setting databases)."
	}
	if refusesUs(err) {
		// Logs mask what has the form of a URL with a password.
		return "Set LEASEHOLD_REDIS_URL with USER:PASSWORD@ before the host, special characters percent-encoded."
	}
	return "Set LEASEHOLD_REDIS_URL to a Redis that answers, such as redis://HOST:6379/0."
}

func origin(cfg config.Config) string {
	if cfg.Source("LEASEHOLD_REDIS_URL") == config.Default {
		return "the default; LEASEHOLD_REDIS_URL is not set"
	}
	return "from the settings"
}
