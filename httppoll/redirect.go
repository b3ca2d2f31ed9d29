package httppoll

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// MaxRedirects is how many redirects a poll follows.
const MaxRedirects = 5

// hop is one request of a poll: the document's own, or one it was redirected to.
type hop struct {
	url    string
	method string
	body   bool
	// user is the document URL's user part.
	user *url.Userinfo
}

// redirects reports whether the status asks for another request. One that the
// document expects is an answer.
func redirects(status int, location string, expected []int) bool {
	switch status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther,
		http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return location != "" && !slices.Contains(expected, status)
	}
	return false
}

// follow returns the request that a redirect asks for. origin is the document's URL,
// at the URL of the request that was answered.
func follow(h hop, origin, at *url.URL, status int, location string) (hop, error) {
	ref, err := url.Parse(location)
	if err != nil {
		return hop{}, fail(ClassHTTP, "status %d redirects to a URL that cannot be parsed", status)
	}
	to := at.ResolveReference(ref)
	if !sameOrigin(origin, to) {
		return hop{}, fail(ClassHTTP, "status %d redirects to another origin, %s: refused",
			status, clip(to.Scheme+"://"+to.Host))
	}
	next := hop{url: to.String(), method: h.method, body: h.body, user: h.user}
	if status != http.StatusTemporaryRedirect && status != http.StatusPermanentRedirect {
		next.body = false
		if h.method != http.MethodHead {
			next.method = http.MethodGet
		}
	}
	return next, nil
}

func sameOrigin(a, b *url.URL) bool {
	return strings.EqualFold(a.Scheme, b.Scheme) &&
		strings.EqualFold(a.Hostname(), b.Hostname()) &&
		port(a) == port(b)
}

func port(u *url.URL) string {
	if p := u.Port(); p != "" {
		return p
	}
	if strings.EqualFold(u.Scheme, "https") {
		return "443"
	}
	return "80"
}
