package tracing

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"leasehold/certfile"
)

// target reads where the collector is.
func (r *reader) target(s *Settings) bool {
	name, value := r.specific("ENDPOINT")
	u, err := url.Parse(cmp.Or(value, defaultEndpoint))
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		r.warn(name + " must be an http or https URL; no traces are sent") // of a URL like this none knows what is secret
		return false
	}
	switch {
	case !strings.Contains(name, "_TRACES_"):
		u = u.JoinPath(tracesPath) // the endpoint of all signals
	case u.Path == "":
		u.Path = "/"
	}
	u.Fragment, u.RawFragment = "", ""
	s.endpoint = u.String()
	return true
}

// origin is the endpoint for people: paths and queries may hold secrets.
func (s Settings) origin() string {
	u, err := url.Parse(s.endpoint)
	if err != nil { // it was parsed before
		return ""
	}
	return u.Scheme + "://" + u.Host
}

// trust reads whom a request by https believes, and what it shows.
func (r *reader) trust(s *Settings) bool {
	caName, ca := r.specific("CERTIFICATE")
	certName, cert := r.specific("CLIENT_CERTIFICATE")
	keyName, key := r.specific("CLIENT_KEY")
	s.tls = &tls.Config{MinVersion: tls.VersionTLS12}
	if ca != "" {
		pool, err := certfile.Authorities(ca)
		if err != nil {
			return r.unreadable(caName, err)
		}
		s.tls.RootCAs = pool
	}
	switch {
	case cert == "" && key == "":
		return true
	case key == "":
		return r.unreadable(keyName, errors.New("is not set, and "+certName+" is"))
	case cert == "":
		return r.unreadable(certName, errors.New("is not set, and "+keyName+" is"))
	}
	shows, err := certfile.Load(cert, key)
	if bad, ok := errors.AsType[*certfile.Error](err); ok {
		return r.unreadable(map[bool]string{true: keyName, false: certName}[bad.Key], bad.Err)
	}
	if err != nil {
		return r.unreadable(certName, err)
	}
	s.tls.GetClientCertificate = shows.ForClient
	return true
}

func (r *reader) unreadable(name string, err error) bool {
	r.warn(fmt.Sprintf("%s can not be used: %v; no traces are sent", name, err))
	return false
}
