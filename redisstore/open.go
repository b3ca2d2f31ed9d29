package redisstore

import (
	"crypto/tls"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// OpenOptions change how [Open] makes a client. The zero value works.
type OpenOptions struct {
	// Timeout bounds reading and writing; zero: DefaultTimeout. Dialing is bounded
	// by it too, and by one second.
	Timeout time.Duration
	// ClientName shows up in Redis' CLIENT LIST; empty: none.
	ClientName string
	// TLS says more than rediss:// does: whom to believe, what to show, and the name
	// that each server must prove. Nil: the system's authorities, no certificate, the
	// host of the address.
	TLS *tls.Config
}

const (
	maxDialTimeout = time.Second
	// poolSize is enough for 256 concurrent polls, whose calls go out grouped, and
	// for a few batches beside them. A large pool would also take longer to notice
	// that a server is back: go-redis dials again only once a second after as many
	// failures.
	poolSize = 16
	// reloadInterval is how long a cluster client may keep looking at a master that
	// is gone; the library's minute is two lease TTLs.
	reloadInterval = time.Second
)

// Open returns a client for redis://, rediss:// or unix:// addresses; several,
// separated by commas, are nodes of one cluster. It does not connect. Close the
// client. No error contains any part of the address.
//
// Commands are bounded by their contexts. The client of a server never repeats them,
// since callers know better; that of a cluster does, up to three times, where it is
// redirected or a connection breaks: it has one count for both. A command may thus take
// effect twice, as it may where its caller repeats it after a lost reply. After a READONLY reply old connections are dropped, those
// of subscriptions too: a fail-over behind an unchanged address leaves them with
// the demoted server.
func Open(rawURL string, o OpenOptions) (redis.UniversalClient, error) {
	if o.Timeout <= 0 {
		o.Timeout = DefaultTimeout
	}
	parsed, err := parseURLs(rawURL)
	if err != nil {
		return nil, err
	}
	for _, p := range parsed {
		if err := overlay(p, o.TLS); err != nil {
			return nil, err
		}
	}
	if len(parsed) > 1 {
		return openCluster(parsed, o)
	}

	return openServer(parsed[0], o), nil
}

func openServer(p *redis.Options, o OpenOptions) redis.UniversalClient {
	p.Protocol = 2
	if o.ClientName != "" {
		p.ClientName = o.ClientName
	}
	p.ContextTimeoutEnabled = true
	p.DialTimeout = min(o.Timeout, maxDialTimeout)
	p.DialerRetries = 1
	p.ReadTimeout, p.WriteTimeout, p.PoolTimeout = o.Timeout, o.Timeout, o.Timeout
	p.MaxRetries = -1
	p.PoolSize = poolSize
	p.PipelinePoolSize = -1 // one pool for both
	p.DisableIdentity = true
	p.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	client := redis.NewClient(p)
	Follow(client)

	return client
}

func openCluster(parsed []*redis.Options, o OpenOptions) (redis.UniversalClient, error) {
	first := parsed[0]
	addrs := make([]string, len(parsed))
	for i, p := range parsed {
		if p.Network == "unix" || p.DB != 0 {
			return nil, errors.New("redis cluster: addresses are redis://host:port without a database number")
		}
		addrs[i] = p.Addr
	}
	if o.ClientName == "" {
		o.ClientName = first.ClientName
	}

	return redis.NewClusterClient(&redis.ClusterOptions{
		Addrs: addrs, Username: first.Username, Password: first.Password, TLSConfig: clusterTLS(first.TLSConfig, o.TLS),
		ClientName: o.ClientName, Protocol: 2, ContextTimeoutEnabled: true,
		DialTimeout: min(o.Timeout, maxDialTimeout), DialerRetries: 1,
		ReadTimeout: o.Timeout, WriteTimeout: o.Timeout, PoolTimeout: o.Timeout,
		PoolSize: poolSize, PipelinePoolSize: -1, DisableIdentity: true,
		ClusterStateReloadInterval: reloadInterval,
		MaintNotificationsConfig:   &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}), nil
}

// clusterTLS has each node prove its own name, not that of the first, unless one was
// asked for.
func clusterTLS(c, more *tls.Config) *tls.Config {
	if c == nil {
		return nil
	}
	c = c.Clone()
	c.ServerName = ""
	if more != nil {
		c.ServerName = more.ServerName
	}

	return c
}

// overlay adds to what the address says. One that is not encrypted stays unused: it
// would go without what was asked for.
func overlay(p *redis.Options, more *tls.Config) error {
	if more == nil {
		return nil
	}
	if p.TLSConfig == nil {
		return errors.New("redis address: certificates and server names need rediss://")
	}
	c := more.Clone()
	c.InsecureSkipVerify = p.TLSConfig.InsecureSkipVerify
	if c.ServerName == "" {
		c.ServerName = p.TLSConfig.ServerName
	}
	p.TLSConfig = c

	return nil
}

// parseURLs parses "redis://user:pw@a:1,b:2" and "redis://a:1,redis://b:2". A
// comma in a password is no separator. Blanks beside a comma are nothing.
func parseURLs(raw string) ([]*redis.Options, error) {
	scheme := regexp.MustCompile(`,\s*(?:redis|rediss|unix)://`)
	var parts []string
	rest := strings.TrimSpace(raw)
	for {
		at := scheme.FindStringIndex(rest)
		if at == nil {
			break
		}
		parts = append(parts, strings.TrimSpace(rest[:at[0]]))
		rest = strings.TrimSpace(rest[at[0]+1:])
	}
	var all []*redis.Options
	for _, part := range append(parts, rest) {
		for _, u := range splitHosts(part) {
			p, err := parseURL(u)
			if err != nil {
				return nil, err
			}
			all = append(all, p)
		}
	}

	return all, nil
}

// splitHosts turns one URL with several hosts into one URL for each.
func splitHosts(u string) []string {
	head := ""
	if i := strings.Index(u, "://"); i >= 0 {
		head = u[:i+3]
	}
	if head == "unix://" {
		return []string{u}
	}
	rest := u[len(head):]
	if i := strings.LastIndex(rest, "@"); i >= 0 {
		head, rest = head+rest[:i+1], rest[i+1:]
	}
	tail := ""
	if i := strings.IndexAny(rest, "/?"); i >= 0 {
		rest, tail = rest[:i], rest[i:]
	}
	var out []string
	for host := range strings.SplitSeq(rest, ",") {
		out = append(out, head+strings.TrimSpace(host)+tail)
	}

	return out
}

// parseURL never shows what it parsed: the library's errors quote the address,
// password included.
func parseURL(u string) (*redis.Options, error) {
	p, err := redis.ParseURL(u)
	if err == nil {
		return p, nil
	}
	scheme, _, found := strings.Cut(u, "://")
	switch {
	case !found:
		return nil, errors.New("redis address: want redis://[user:password@]host:port[/database], found no ://")
	case scheme != "redis" && scheme != "rediss" && scheme != "unix":
		return nil, errors.New("redis address: the scheme must be redis, rediss or unix")
	case strings.Contains(err.Error(), "invalid database number"):
		return nil, errors.New("redis address: the database must be a number, as in redis://host:6379/0")
	default:
		return nil, fmt.Errorf("redis address: want %s://[user:password@]host:port[/database]; "+
			"special characters in the password must be percent-encoded", scheme)
	}
}
