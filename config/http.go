package config

import (
	"crypto/tls"
	"fmt"
	"net"
	"strings"

	"leasehold/basicauth"
	"leasehold/certfile"
)

const (
	httpCert = "LEASEHOLD_HTTP_CERT_FILE"
	httpKey  = "LEASEHOLD_HTTP_KEY_FILE"
)

// HTTPTLS returns what the HTTP server speaks TLS with, or nil where it does not. It
// reads the files that the settings name. Where they change and are of no use then, warn
// is told so, from any goroutine; nil: nobody is.
func (c Config) HTTPTLS(warn func(reason string)) (*tls.Config, error) {
	if c.HTTPCertFile == "" {
		return nil, nil //nolint:nilnil // nothing is said, and nothing is wrong
	}
	pair, err := certfile.Load(c.HTTPCertFile, c.HTTPKeyFile)
	if err != nil {
		return nil, err
	}
	whenUnfit(pair, "LEASEHOLD_HTTP_CERT_FILE or LEASEHOLD_HTTP_KEY_FILE", warn)
	return &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: pair.ForServer}, nil
}

// APIUsers reads who may use the API with a password; nil where no setting names any.
func (c Config) APIUsers() (*basicauth.Users, error) {
	if c.APIUsersFile == "" {
		return nil, nil //nolint:nilnil // nothing is said, and nothing is wrong
	}
	return basicauth.Load(c.APIUsersFile)
}

// relateHTTP: the files of the HTTP server hold what they should.
func (l *loader) relateHTTP() {
	c := &l.cfg
	l.relatePair(httpCert, c.HTTPCertFile, httpKey, c.HTTPKeyFile)
	const users = "LEASEHOLD_API_USERS_FILE"
	if !l.sound(users) {
		return
	}
	if _, err := c.APIUsers(); err != nil {
		l.fault(users, "must be a readable file of users: "+err.Error())
	}
}

// httpWarnings tell of a server that others than this machine can reach.
func (c Config) httpWarnings() []string {
	guarded := c.APIToken != "" || c.APIUsersFile != ""
	const who = "and there is neither LEASEHOLD_API_TOKEN nor LEASEHOLD_API_USERS_FILE"
	switch {
	case guarded && c.APIOpen:
		return []string{"LEASEHOLD_API_OPEN has no effect beside a token or users: they are asked for"}
	case guarded || c.HTTPAddr == "" || loopback(c.HTTPAddr):
		return nil
	case c.APIOpen:
		return []string{fmt.Sprintf("LEASEHOLD_HTTP_ADDR (%s) can be reached from other machines %s: "+
			"by LEASEHOLD_API_OPEN everybody may take leases and run tasks", c.HTTPAddr, who)}
	default:
		return []string{fmt.Sprintf("LEASEHOLD_HTTP_ADDR (%s) can be reached from other machines %s: "+
			"the API is refused there, health and metrics are not", c.HTTPAddr, who)}
	}
}

// loopback reports whether nobody outside this machine can connect to the address.
func loopback(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	ip := net.ParseIP(host)
	return err == nil && (strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback())
}
