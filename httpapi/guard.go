package httpapi

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"net"
	"net/http"
	"strings"

	"leasehold/basicauth"
)

// Users are those who may use the API with a name and a password.
type Users interface {
	// Check returns nil for the right password, basicauth.ErrRefused for a wrong one,
	// and another error where it can not be told.
	Check(ctx context.Context, name, password string) error
}

// guard says who may use the API.
type guard struct {
	token    string
	users    Users // nil: none
	loopback bool
	open     bool
	origins  *http.CrossOriginProtection
}

// admit is check, and tells in the answer's header what would be accepted.
func (g *guard) admit(w http.ResponseWriter, r *http.Request) *problem {
	p := g.check(r)
	if p != nil && p.Status == http.StatusUnauthorized {
		g.challenge(w.Header())
	}

	return p
}

// check returns why a request is refused, or nil.
func (g *guard) check(r *http.Request) *problem {
	if err := g.origins.Check(r); err != nil {
		return newProblem(http.StatusForbidden, "cross-origin request refused", "browsers may write from pages of the same origin only")
	}
	switch {
	case g.token != "" || g.users != nil:
		return g.knows(r)
	case g.open:
		return nil
	case !g.loopback:
		return newProblem(http.StatusForbidden, "API token needed",
			"without LEASEHOLD_API_TOKEN the API answers only where the server listens on loopback")
	case !loopbackHost(r.Host):
		// A page of any site can have its name resolve to this machine: to a browser its
		// requests are then of the same origin.
		return newProblem(http.StatusForbidden, "unknown host", "without LEASEHOLD_API_TOKEN the API answers to localhost and loopback addresses only")
	}

	return nil
}

// knows returns nil for a request with the token, or with the password of a user.
func (g *guard) knows(r *http.Request) *problem {
	name, password, basic := r.BasicAuth()
	switch {
	case g.token != "" && g.bears(r):
		return nil
	case g.users == nil:
		return newProblem(http.StatusUnauthorized, "bearer token needed", "send the API token as 'Authorization: Bearer TOKEN'")
	case !basic:
		return newProblem(http.StatusUnauthorized, "name and password needed", "send them, or the API token, in the header Authorization")
	}
	err := g.users.Check(r.Context(), name, password)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, basicauth.ErrRefused):
		return newProblem(http.StatusUnauthorized, "wrong name or password", "")
	default:
		return newProblem(http.StatusServiceUnavailable, "the password could not be checked", err.Error())
	}
}

// challenge says what would be accepted.
func (g *guard) challenge(h http.Header) {
	if g.token != "" {
		h.Add("WWW-Authenticate", "Bearer")
	}
	if g.users != nil {
		h.Add("WWW-Authenticate", `Basic realm="leasehold", charset="UTF-8"`)
	}
}

// bears reports whether the request has the token. What is compared has one length,
// and takes the same time wherever it differs.
func (g *guard) bears(r *http.Request) bool {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	given, want := sha256.Sum256([]byte(strings.TrimSpace(token))), sha256.Sum256([]byte(g.token))

	return strings.EqualFold(scheme, "Bearer") && subtle.ConstantTimeCompare(given[:], want[:]) == 1
}

func loopbackHost(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	ip := net.ParseIP(host)

	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}
