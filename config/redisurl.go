package config

import (
	"errors"
	"net/url"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// RedisURL is the URL of one server, with its password. What fmt, JSON and logs
// show has the user part masked. Convert it to a string to use it.
type RedisURL string

// String returns the URL without the user part.
func (u RedisURL) String() string { return maskURL(string(u)) }

// GoString is String, for %#v.
func (u RedisURL) GoString() string { return u.String() }

// MarshalText is String, for JSON.
func (u RedisURL) MarshalText() ([]byte, error) { return []byte(u.String()), nil }

const (
	ruleScheme  = "must start with redis://, rediss:// or unix://"
	ruleEncode  = "is no URL; percent-encode special characters in user name and password"
	ruleHost    = "must name a host, and a port from 1 to 65535 or none"
	ruleDB      = "must end with a database number, such as /0"
	ruleCluster = "several addresses are a cluster: all redis:// or all rediss://, and no database but 0"
)

// RedisAddress is all addresses in one text, as package redisstore opens them: those that
// were checked, and no others. It holds the password.
func (c Config) RedisAddress() string {
	all := make([]string, len(c.Redis))
	for i, u := range c.Redis {
		all[i] = string(u)
	}
	return strings.Join(all, ",")
}

// parseRedis reads one URL, or the comma-separated ones of a cluster. The scheme,
// the credentials and the options of the first one hold for those that are only
// host:port.
func parseRedis(value string) ([]RedisURL, error) {
	var all []RedisURL
	var first *url.URL
	for part := range strings.SplitSeq(value, ",") {
		part = strings.TrimSpace(part)
		if first != nil && !strings.Contains(part, "://") {
			if strings.ContainsAny(part, "@/?#") {
				return nil, errors.New(ruleEncode)
			}
			same := *first
			same.Host = part
			part = same.String()
		}
		u, err := checkRedisURL(part)
		if err != nil {
			return nil, err
		}
		if first == nil {
			first = u
		} else if first.Scheme != u.Scheme {
			return nil, errors.New(ruleCluster)
		}
		all = append(all, RedisURL(part))
	}
	if len(all) > 1 {
		return all, checkCluster(all)
	}
	return all, nil
}

// checkRedisURL returns errors that hold no part of the URL but names of options:
// where it can't be parsed, nobody knows which part is the password.
func checkRedisURL(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	switch {
	case !strings.Contains(s, "://"):
		return nil, errors.New(ruleScheme)
	case err != nil:
		return nil, errors.New(ruleEncode)
	case u.Scheme != "redis" && u.Scheme != "rediss" && u.Scheme != "unix":
		return nil, errors.New(ruleScheme)
	case u.Scheme != "unix" && strings.Contains(u.Path+u.RawQuery+u.Fragment, "@"):
		return nil, errors.New(ruleEncode)
	case u.Scheme != "unix" && (u.Hostname() == "" || !validPort(u.Port())):
		return nil, errors.New(ruleHost)
	case u.Scheme == "unix" && (u.Hostname() != "" || u.Path == "" || u.Path == "/"):
		return nil, errors.New("must name a socket's path, such as unix:///run/redis.sock")
	}
	o, err := redis.ParseURL(s)
	if err != nil {
		if option, found := strings.CutPrefix(err.Error(), "redis: unexpected option: "); found {
			return nil, errors.New("has an unknown option: " + option)
		}
		return nil, errors.New(ruleDB + ", and have valid options")
	}
	if o.DB < 0 {
		return nil, errors.New(ruleDB)
	}
	return u, nil
}

// validPort allows none, which means 6379.
func validPort(port string) bool {
	n, err := strconv.ParseUint(port, 10, 16)
	return port == "" || (err == nil && n > 0)
}

// checkCluster: a cluster has one database, and no sockets.
func checkCluster(all []RedisURL) error {
	for _, u := range all {
		o, err := redis.ParseURL(string(u))
		if err != nil || o.DB != 0 || o.Network == "unix" {
			return errors.New(ruleCluster)
		}
	}
	return nil
}

// maskURL masks what stands between the scheme and the last @, so that also a
// password goes that breaks the URL, and the values of options that sound like
// secrets.
func maskURL(s string) string {
	scheme, rest, found := strings.Cut(s, "://")
	if found {
		scheme += "://"
	} else {
		scheme, rest = "", s
	}
	if at := strings.LastIndexByte(rest, '@'); at >= 0 {
		rest = masked + rest[at:]
	}
	before, options, found := strings.Cut(rest, "?")
	if !found {
		return scheme + rest
	}
	parts := strings.Split(options, "&")
	for i, p := range parts {
		if key, _, ok := strings.Cut(p, "="); ok && soundsSecret(key) {
			parts[i] = key + "=" + masked
		}
	}
	return scheme + before + "?" + strings.Join(parts, "&")
}

func soundsSecret(key string) bool {
	key = strings.ToLower(key)
	for _, word := range []string{"pass", "secret", "token", "auth", "pwd"} {
		if strings.Contains(key, word) {
			return true
		}
	}
	return false
}
