package config

import (
	"crypto/tls"
	"errors"
	"strings"

	"leasehold/certfile"
)

// RedisTLS returns what connections to a rediss:// server are made with, or nil where
// no setting says more than the address. It reads the files that the settings name, and
// warns as [Config.HTTPTLS] does.
func (c Config) RedisTLS(warn func(reason string)) (*tls.Config, error) {
	if c.RedisCAFile+c.RedisCertFile+c.RedisServerName == "" {
		return nil, nil //nolint:nilnil // nothing is said, and nothing is wrong
	}
	t := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: c.RedisServerName}
	var err error
	if c.RedisCAFile != "" {
		if t.RootCAs, err = certfile.Authorities(c.RedisCAFile); err != nil {
			return nil, err
		}
	}
	if c.RedisCertFile != "" {
		pair, err := certfile.Load(c.RedisCertFile, c.RedisKeyFile)
		if err != nil {
			return nil, err
		}
		whenUnfit(pair, "LEASEHOLD_REDIS_CERT_FILE or LEASEHOLD_REDIS_KEY_FILE", warn)
		t.GetClientCertificate = pair.ForClient
	}
	return t, nil
}

// whenUnfit has it told that the files of the settings can't be used any more.
func whenUnfit(pair *certfile.Pair, names string, warn func(reason string)) {
	if warn == nil {
		return
	}
	pair.WhenUnfit(func(err error) {
		warn(names + " was changed and can not be used, so the former certificate goes on: " + err.Error())
	})
}

// relateRedisTLS: the files hold what they should, and belong to an encrypted address.
func (l *loader) relateRedisTLS() {
	const address = "LEASEHOLD_REDIS_URL"
	c := &l.cfg
	for name, value := range map[string]string{
		"LEASEHOLD_REDIS_CA_FILE": c.RedisCAFile, "LEASEHOLD_REDIS_CERT_FILE": c.RedisCertFile,
		"LEASEHOLD_REDIS_KEY_FILE": c.RedisKeyFile, "LEASEHOLD_REDIS_SERVER_NAME": c.RedisServerName,
	} {
		if value != "" && l.sound(name, address) && !strings.HasPrefix(string(c.Redis[0]), "rediss://") {
			l.fault(name, "needs "+address+" to start with rediss://")
		}
	}
	l.relatePair("LEASEHOLD_REDIS_CERT_FILE", c.RedisCertFile, "LEASEHOLD_REDIS_KEY_FILE", c.RedisKeyFile)
	const ca = "LEASEHOLD_REDIS_CA_FILE"
	if c.RedisCAFile != "" && l.sound(ca) {
		if _, err := certfile.Authorities(c.RedisCAFile); err != nil {
			l.fault(ca, ruleFile+err.Error())
		}
	}
}

const ruleFile = "must be a readable file in PEM: "

// bothOrNone: a certificate needs its key, and a key its certificate. It reports whether
// both are named.
func (l *loader) bothOrNone(certName, certFile, keyName, keyFile string) bool {
	switch {
	case !l.sound(certName, keyName) || certFile+keyFile == "":
		return false
	case keyFile == "":
		l.fault(certName, "needs "+keyName)
		return false
	case certFile == "":
		l.fault(keyName, "needs "+certName)
		return false
	}
	return true
}

// relatePair: the files of a certificate and its key can be used, and fit.
func (l *loader) relatePair(certName, certFile, keyName, keyFile string) {
	if !l.bothOrNone(certName, certFile, keyName, keyFile) {
		return
	}
	_, err := certfile.Load(certFile, keyFile)
	if e, ok := errors.AsType[*certfile.Error](err); ok {
		blame := certName
		if e.Key {
			blame = keyName
		}
		l.fault(blame, ruleFile+e.Err.Error())
	}
}
