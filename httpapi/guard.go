package httpapi

import (
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"strings"
)

// guard says who may use the API.
type guard struct {
	token    string
	loopback bool
	origins  *http.CrossOriginProtection
}

// check returns why a request is refused, or nil.
func (g *guard) check(r *http.Request) *problem {
	if err := g.origins.Check(r); err != nil {
		return newProblem(http.StatusForbidden, "cross-origin request refused", "browsers may write from pages of the same origin only")
	}
	switch {
	case g.token != "":
		if !g.bears(r) {
			return newProblem(http.StatusUnauthorized, "bearer token needed", "send the API token as 'Authorization: Bearer TOKEN'")
		}
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
